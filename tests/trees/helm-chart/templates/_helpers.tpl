{{- define "pools.labels" -}}
app.kubernetes.io/part-of: karpenter
{{- end }}

/** How the language server is started. Nothing here needs an editor, so that the tests start the same server. */

export interface Command {
  command: string;
  args: string[];
}

/** The texts that the server is asked about; it passes over those without a Karpenter object by itself. */
export const LANGUAGES = ["yaml", "helm", "terraform", "terraform-vars", "opentofu", "opentofu-vars"] as const;

/** Whether a text is one that Karpenter reads, or says where such a one is; a configuration is always. */
export function speaksOfKarpenter(path: string, text: string): boolean {
  return /karpenter|NodeClass/i.test(text) || /(^|[\\/])nodelint\.yaml$/.test(path);
}

/** The NodePool whose document a line (from 0) is in; undefined where it has no plain name. */
export function poolAt(text: string, line: number): string | undefined {
  const lines = text.split(/\r\n|\r|\n/);
  const marks = lines.flatMap((each, number) => (/^\s*---(\s|$)/.test(each) ? [number] : []));
  const start = marks.filter((mark) => mark <= line).pop() ?? -1;
  const end = marks.find((mark) => mark > line) ?? lines.length;
  const own = lines.slice(start + 1, end).filter((each) => /^\s*[^\s#]/.test(each));
  const head = own.findIndex((each) => /^\s*metadata:/.test(each));
  if (head < 0 || !own.some((each) => /^\s*kind:\s*["']?NodePool\b/.test(each))) {
    return undefined;
  }
  const inLine = /^\s*metadata:\s*\{(?:.*[,{\s])?name:\s*["']?([\w.-]+)["']?\s*[,}]/.exec(own[head]);
  const indent = /^\s*/.exec(own[head + 1] ?? "")?.[0] ?? "";
  const fields = own.slice(head + 1).filter((each) => each.startsWith(`${indent}name:`));
  const below = /^\s*name:\s*["']?([\w.-]+)["']?\s*(#|$)/.exec(fields[0] ?? "");
  return (inLine ?? below)?.[1];
}

/** The schema for a text that holds objects of one kind; none where a schema would be asked of other documents. */
export function schemaOf(text: string): string | undefined {
  const kinds = new Set(Array.from(text.matchAll(/^kind:\s*["']?(\w+)/gm), (found) => found[1]));
  const versions = new Set(Array.from(text.matchAll(/^apiVersion:\s*["']?([\w./]+)/gm), (found) => found[1]));
  const [kind, version] = [...kinds, ...versions];
  if (kinds.size !== 1 || versions.size !== 1) {
    return undefined;
  }
  const file = { "NodePool karpenter.sh/v1": "nodepool-v1", "EC2NodeClass karpenter.k8s.aws/v1": "ec2nodeclass-v1" };
  const name = file[`${kind} ${version}` as keyof typeof file];
  return name && `nodelint://schemas/${name}.schema.json`;
}

/** The program and its arguments; an empty path means the one on the PATH. */
export function serverCommand(path: string | undefined, args: string[] | undefined): Command {
  const command = path?.trim() ? path.trim() : "nodelint";
  return { command, args: args?.length ? args : ["lsp"] };
}

/** What to tell a user whose server did not start. */
export function startFailure(command: string, error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  if (/ENOENT/.test(reason)) {
    return `${command} was not found. Install it by "pipx install '.[lsp]'" in a checkout of nodelint, or set nodelint.path.`;
  }
  return `${command} did not start: ${reason}`;
}

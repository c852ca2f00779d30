# Made by tools/make_packaging.py. `brew update-python-resources nodelint` writes the resources behind `depends_on`:
# the packages of requirements/nodelint.txt with their hashes. The hash of the archive is that of the release.
class Nodelint < Formula
  include Language::Python::Virtualenv

  desc "Linter for Karpenter's NodePool and EC2NodeClass that knows what Karpenter would launch"
  homepage "https://github.com/<owner>/nodelint"
  url "https://github.com/<owner>/nodelint/archive/refs/tags/v0.1.0.tar.gz"
  sha256 "<hash>"
  license "Apache-2.0"

  depends_on "rust" => :build
  depends_on "libyaml"
  depends_on "python@3.13"

  def install
    virtualenv_install_with_resources
  end

  test do
    (testpath/"pool.yaml").write <<~YAML
      apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default}
      spec: {}
    YAML
    assert_match "required", shell_output("#{bin}/nodelint check pool.yaml", 1)
  end
end

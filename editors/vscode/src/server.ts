/** How the language server is started. Nothing here needs an editor, so that the tests start the same server. */

export interface Command {
  command: string;
  args: string[];
}

/** The texts that the server is asked about; it passes over those without a Karpenter object by itself. */
export const LANGUAGES = ["yaml", "helm", "terraform"] as const;

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

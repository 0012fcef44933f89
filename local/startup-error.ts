/** Something the user can put right. Its message is one whole sentence; it is shown without a stack. */
export class StartupError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'StartupError';
  }
}

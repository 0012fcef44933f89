/** An error that the user can correct. Its message is a whole sentence, shown without a stack trace. */
export class StartupError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'StartupError';
  }
}

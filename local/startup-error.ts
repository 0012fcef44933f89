/** An error that the user can correct. Its message is a whole sentence, shown without a stack trace. */
export class StartupError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'StartupError';
  }
}

/** What the user has written cannot be used: an argument, an option, a variable or a file. Exit code 2. */
export class UsageError extends StartupError {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'UsageError';
  }
}

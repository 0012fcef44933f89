/** Units of size in bytes, and of time in milliseconds. */
export const KB = 1024;
export const MB = 1024 * KB;
export const SECOND_MS = 1000;
export const MINUTE_MS = 60 * SECOND_MS;

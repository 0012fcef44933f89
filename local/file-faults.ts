const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EBUSY: 'it is in use',
  EDQUOT: 'the quota of the disk is used up',
  EEXIST: 'it exists already',
  EFBIG: 'it would be too large',
  EIO: 'the device reports a fault',
  EISDIR: 'it is a directory',
  ELOOP: 'its links lead in a circle',
  EMFILE: 'too many files are open',
  ENAMETOOLONG: 'its name is too long',
  ENFILE: 'too many files are open',
  ENOENT: 'there is no such file',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is not a directory',
  EROFS: 'the file system is read-only',
};

/** Why the system refuses an operation on a file, in words that follow a colon: `the disk is full`. */
export function fileFault(cause: unknown): string {
  const code = fileFaultCode(cause);
  const text = cause instanceof Error ? cause.message : String(cause);
  return (code === undefined ? undefined : REASONS[code]) ?? code ?? text;
}

/** As `fileFault`, for a file that would have been made: what is missing is its directory. */
export function writeFault(cause: unknown): string {
  return fileFaultCode(cause) === 'ENOENT' ? 'there is no such directory' : fileFault(cause);
}

/** The system's code of an error, such as `ENOENT`; undefined if it has none. */
export function fileFaultCode(cause: unknown): string | undefined {
  if (!(cause instanceof Error) || !('code' in cause)) return undefined;
  return typeof cause.code === 'string' ? cause.code : undefined;
}

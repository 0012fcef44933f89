/** A path without the slashes at its end; a regular expression would take long over many of them. */
export function withoutFinalSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end--;
  return path.slice(0, end);
}

const SHELL_HINT =
  "A shell takes the '$' of '$deadletterqueue' or '$purge' for a variable, unless the URL is in single quotes or the '$' is written '\\$'.";
/** The longest part of a path that a refusal repeats. */
const SHOWN_LENGTH = 300;
/** The path of an entity, before the words of the API. */
const ENTITY = /^.*?(?=\/(?:messages|sessions)(?:\/|$)|$)/i;
const EMPTY_SEGMENT = /(?:\/|%2f)(?:\/|%2f)/i;
/** The ids of messages may hold slashes; but here one is missing. */
const EMPTY_NAME = /^\/(?:messages|sessions)\/\//i;
const FINAL_SLASH = /\/$/;
const ENCODED_SLASH_AT_END = /%2f$/i;
const SUB_QUEUE_WITHOUT_DOLLAR = /(?<=[^/])\/(transfer\/)?deadletterqueue(?=\/|$)/i;

/**
 * Why a path does not say what it is meant to: what a shell makes of `/q/$deadletterqueue/messages` is
 * `/q//messages`, which names the queue itself. Undefined for a path that is whole. Only lists may end with
 * a slash, as the official clients spell them.
 */
export function pathFault(method: string, pathname: string): string | undefined {
  const shown = pathname.slice(0, SHOWN_LENGTH);
  const [entity = ''] = ENTITY.exec(pathname) ?? [];
  const rest = pathname.slice(entity.length);
  // A path that leads to nothing but a name may end with a slash where it is read.
  const isEmpty = EMPTY_SEGMENT.test(rest === '' ? entity : `${entity}/`) || EMPTY_NAME.test(rest);
  if (isEmpty) return `The path '${shown}' has an empty segment. ${SHELL_HINT}`;
  const isRead = ['GET', 'HEAD', 'OPTIONS'].includes(method);
  const endsSo = FINAL_SLASH.test(pathname) || (rest === '' && ENCODED_SLASH_AT_END.test(entity));
  if (isRead || pathname === '/' || !endsSo) return undefined;
  return `The path '${shown}' ends with a slash, which only GET allows. ${SHELL_HINT}`;
}

/** What to say of a path with a sub-queue whose `$` is missing; undefined for other paths. */
export function subQueueHint(pathname: string): string | undefined {
  const [found, transfer] = SUB_QUEUE_WITHOUT_DOLLAR.exec(pathname) ?? [];
  if (found === undefined) return undefined;
  const right = transfer === undefined ? '/$deadletterqueue' : '/$transfer/$deadletterqueue';
  const path = pathname.slice(0, SHOWN_LENGTH).replace(SUB_QUEUE_WITHOUT_DOLLAR, () => right);
  return `The path of the sub-queue is '${path}'. ${SHELL_HINT}`;
}

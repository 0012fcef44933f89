import type { EntityPath, SubQueue } from '../../../shared/domain/entities/entity-path.ts';

const SUFFIXES: Readonly<Record<SubQueue, string>> = {
  main: '',
  deadLetter: '/$deadletterqueue',
  transferDeadLetter: '/$transfer/$deadletterqueue',
};

/** The path of an entity or one of its dead-letter queues in the addresses of the HTTP interface. */
export function pathText({ name, subQueue }: EntityPath): string {
  return `${name}${SUFFIXES[subQueue]}`;
}

/** Names a queue within this process; two spellings of a path give the same name. */
export function queueKey({ key, subQueue }: EntityPath): string {
  return `${key}${SUFFIXES[subQueue]}`;
}

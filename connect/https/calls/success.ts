import type { HttpAnswer } from '../../../client/call.ts';
import { EXACT_TYPE } from '../format/exact-batch.ts';

/** Whether an answer is the success of a request, as the service writes it. */
export type Success = (answer: HttpAnswer) => boolean;

/**
 * The successes of the service. What is in front of it, or in its place, may answer any request with 200: the page of a
 * login, or the answer of a load balancer that is asked whether it lives.
 */
export const SUCCESS = {
  /** Of a send without numbers. */
  stored: ({ status }) => status === 201,
  /** Of an operation without an outcome. */
  done: ({ status, bytes }) => status === 200 && bytes.byteLength === 0,
  json: isJson,
  /** A session that was accepted, or none. */
  session: (answer) => answer.status === 204 || isJson(answer),
  /** Messages in the exact format, or none. */
  exact: (answer) =>
    answer.status === 204 || (isCreatedOrOk(answer) && typeOf(answer) === EXACT_TYPE),
  /** Bytes, or none. */
  bytes: (answer) =>
    answer.status === 204 ||
    (answer.status === 200 && typeOf(answer) === 'application/octet-stream'),
} as const satisfies Record<string, Success>;

function isJson(answer: HttpAnswer): boolean {
  return isCreatedOrOk(answer) && typeOf(answer) === 'application/json';
}

function isCreatedOrOk({ status }: HttpAnswer): boolean {
  return status === 200 || status === 201;
}

/** The media type of an answer in lower case, without its parameters. */
function typeOf(answer: HttpAnswer): string | undefined {
  return answer.header('content-type')?.split(';')[0]?.trim().toLowerCase();
}

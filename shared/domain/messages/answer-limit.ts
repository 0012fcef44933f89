/** How much one answer of a surface can carry. */
export interface AnswerLimit {
  /** `batch` = messages as JSON; `single` = one message, its body as it is and the rest in headers. */
  readonly form: 'batch' | 'single';
  /** What messages may take in it, bytes. */
  readonly bytes: number;
  /** A `single` message whose headers take more bytes comes in the form of a `batch`. */
  readonly headerBytes?: number;
  /** A message may take more where it comes alone; otherwise it is refused. */
  readonly oneMayExceed?: true;
}

/** How many bytes of messages one answer can carry, by its form. */
export interface AnswerLimit {
  /**
   * `batch` = messages as JSON; `amqp` = messages as AMQP encodes them; `single` = one message, with its body
   * unencoded and its properties in headers.
   */
  readonly form: 'batch' | 'amqp' | 'single';
  /** Bytes of messages in the answer. */
  readonly bytes: number;
  /** A `single` message whose headers take more bytes is sent in the form of a `batch`. */
  readonly headerBytes?: number;
  /** A message that is alone in its answer may exceed the limit; without this it is refused. */
  readonly oneMayExceed?: true;
}

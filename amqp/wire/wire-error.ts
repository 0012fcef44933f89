/** The error for bytes that are not valid AMQP. */
export class DecodeError extends Error {
  constructor(why: string, sentence = `The bytes are not valid AMQP: ${why}.`) {
    super(sentence);
    this.name = 'DecodeError';
  }
}

/** The error for bytes with more values than one decoder reads. */
export class TooManyValuesError extends DecodeError {
  constructor(max: number) {
    super('too many values', `Too many values: the limit is ${max}. Send fewer at a time.`);
    this.name = 'TooManyValuesError';
  }
}

/** An error to be sent to the peer: a condition, which it can act on, and a description. */
export class AmqpError extends Error {
  readonly condition: string;

  constructor(condition: string, description: string, options?: ErrorOptions) {
    super(description, options);
    this.name = 'AmqpError';
    this.condition = condition;
  }
}

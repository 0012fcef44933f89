/** Bytes that are not what AMQP says they are. */
export class DecodeError extends Error {
  constructor(why: string, sentence = `The bytes are not valid AMQP: ${why}.`) {
    super(sentence);
    this.name = 'DecodeError';
  }
}

/** Bytes that hold more values than are read at a time. */
export class TooManyValuesError extends DecodeError {
  constructor(max: number) {
    super('too many values', `At most ${max} values are read at a time: send fewer together.`);
    this.name = 'TooManyValuesError';
  }
}

/** An error as the peer is told of it: a condition it can act on, and a sentence. */
export class AmqpError extends Error {
  readonly condition: string;

  constructor(condition: string, description: string, options?: ErrorOptions) {
    super(description, options);
    this.name = 'AmqpError';
    this.condition = condition;
  }
}

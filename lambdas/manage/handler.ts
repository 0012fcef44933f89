import { compose } from '../http/compose.ts';
import { functionParts } from '../http/deployed-parts.ts';
import { httpHandler } from '../http/lambda.ts';

const namespace = compose(functionParts(process.env));

/** Answers everything that no other function is given: management, and paths of many segments. */
export const handler = httpHandler(namespace.app, () => namespace.idle());

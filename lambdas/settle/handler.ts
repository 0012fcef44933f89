import { composeParts } from '../http/compose-parts.ts';
import { functionParts } from '../http/deployed-parts.ts';
import { httpHandler } from '../http/lambda.ts';
import { settleRoutes } from './app.ts';

const parts = composeParts(functionParts(process.env));

/** Settles messages of entities of one path segment. */
export const handler = httpHandler(settleRoutes(parts), () => parts.background.settled());

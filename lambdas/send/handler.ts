import { composeParts } from '../http/compose-parts.ts';
import { functionParts } from '../http/deployed-parts.ts';
import { httpHandler } from '../http/lambda.ts';
import { sendRoutes } from './app.ts';

const parts = composeParts(functionParts(process.env));

/** Sends to entities of one path segment. */
export const handler = httpHandler(sendRoutes(parts), () => parts.background.settled());

import { sendRoutes } from '../http/routes/send.ts';
import { serveGroup } from '../http/serve-group.ts';

/** Serves sends to entities whose path is one segment. */
export const handler = serveGroup(sendRoutes);

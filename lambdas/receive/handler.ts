import { receiveRoutes } from '../http/routes/receive.ts';
import { serveGroup } from '../http/serve-group.ts';

/** Serves receives from entities whose path is one segment. */
export const handler = serveGroup(receiveRoutes);

import { settleRoutes } from '../http/routes/settle.ts';
import { serveGroup } from '../http/serve-group.ts';

/** Serves settlements at entities whose path is one segment. */
export const handler = serveGroup(settleRoutes);

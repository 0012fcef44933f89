import { HEALTH_PATH } from '../../shared/domain/health-path.ts';

/** Whether a request asks for the health of the process, which needs no right. */
export function isHealthCheck({ url }: Pick<Request, 'url'>): boolean {
  return new URL(url).pathname === HEALTH_PATH;
}

import {
  LIMITS as SERVICE,
  STORAGE_LIMITS,
  type StorageLimits,
} from '../../shared/domain/limits.ts';
import { isMore } from '../runner/more.ts';

/**
 * `npm test` reaches the limits of storage with a tenth of the items and a thousandth of the bytes;
 * `npm run test:more` reaches those of the service.
 */
const LIMITS: StorageLimits = isMore()
  ? STORAGE_LIMITS
  : { transactionItems: 10, bytesPerMegabyte: 1024 };

/** The maximum number of messages of a batch, or a thirtieth of it: more than fit into a transaction. */
export const LARGE_BATCH = isMore() ? SERVICE.batchMessages : SERVICE.batchMessages / 30;

/** For a test that writes more items than fit into a transaction. */
export const FEW_ITEMS: StorageLimits = {
  ...STORAGE_LIMITS,
  transactionItems: LIMITS.transactionItems,
};

/** For a test that fills an entity. */
export const SMALL_ENTITIES: StorageLimits = {
  ...STORAGE_LIMITS,
  bytesPerMegabyte: LIMITS.bytesPerMegabyte,
};

/** A number of items that needs two transactions of `FEW_ITEMS`. */
export const MORE_THAN_A_TRANSACTION = 1.2 * LIMITS.transactionItems;

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

/** Messages of a batch that is as large as a client may send, or a tenth of that. */
export const LARGE_BATCH = isMore() ? SERVICE.batchMessages : SERVICE.batchMessages / 10;

/** For a test that writes more items than a transaction takes. */
export const FEW_ITEMS: StorageLimits = {
  ...STORAGE_LIMITS,
  transactionItems: LIMITS.transactionItems,
};

/** For a test that fills an entity. */
export const SMALL_ENTITIES: StorageLimits = {
  ...STORAGE_LIMITS,
  bytesPerMegabyte: LIMITS.bytesPerMegabyte,
};

/** Items that take more than one transaction of `FEW_ITEMS`, and less than two. */
export const MORE_THAN_A_TRANSACTION = 1.2 * LIMITS.transactionItems;

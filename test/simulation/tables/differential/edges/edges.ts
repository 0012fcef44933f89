import type { Edge } from './edge.ts';
import { EXPRESSION_EDGES } from './expression-edges.ts';
import { ITEM_EDGES } from './item-edges.ts';
import { QUERY_EDGES } from './query-edges.ts';
import { REQUEST_EDGES } from './request-edges.ts';

/** All edges: both sides of each limit, if it has two. */
export const EDGES: readonly Edge[] = [
  ...ITEM_EDGES,
  ...EXPRESSION_EDGES,
  ...REQUEST_EDGES,
  ...QUERY_EDGES,
];

/**
 * Which partition a key belongs to: equal keys always meet in the same one, for as long as the entity
 * lives (semantics §8-10). FNV-1a over UTF-16 units, mixed at the end so that keys that differ in
 * their last letter only are spread as well.
 */
export function partitionOfKey(key: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % partitions;
}

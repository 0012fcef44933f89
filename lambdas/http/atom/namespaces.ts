/** The XML namespaces of the management API (semantics G11, G15). */
export const NAMESPACE = {
  atom: 'http://www.w3.org/2005/Atom',
  /** Of the descriptions and everything in them. */
  description: 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect',
  /** Of `type` and `nil`, which every client calls by another prefix. */
  instance: 'http://www.w3.org/2001/XMLSchema-instance',
  /** Of the types of values in filters. */
  schema: 'http://www.w3.org/2001/XMLSchema',
  counts: 'http://schemas.microsoft.com/netservices/2011/06/servicebus',
} as const;

/** The XML namespaces of the management API (semantics G11, G15). */
export const NAMESPACE = {
  atom: 'http://www.w3.org/2005/Atom',
  /** The descriptions and all their elements. */
  description: 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect',
  /** The attributes `type` and `nil`; each client uses another prefix for them. */
  instance: 'http://www.w3.org/2001/XMLSchema-instance',
  /** The types of values in filters. */
  schema: 'http://www.w3.org/2001/XMLSchema',
  counts: 'http://schemas.microsoft.com/netservices/2011/06/servicebus',
} as const;

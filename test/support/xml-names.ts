/** The XML namespaces of management. */
export const CONNECT = 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect';
export const INSTANCE = 'http://www.w3.org/2001/XMLSchema-instance';
export const SCHEMA = 'http://www.w3.org/2001/XMLSchema';

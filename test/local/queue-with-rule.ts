/** The key of the rule `listenOnly` of `QUEUE_WITH_RULE`. */
export const ENTITY_KEY = 'k'.repeat(44);

/** The Atom entry of a queue with the rule `listenOnly`, which may only receive. */
export const QUEUE_WITH_RULE = `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><AuthorizationRules><AuthorizationRule><ClaimType>SharedAccessKey</ClaimType><ClaimValue>None</ClaimValue><Rights><AccessRights>Listen</AccessRights></Rights><KeyName>listenOnly</KeyName><PrimaryKey>${ENTITY_KEY}</PrimaryKey><SecondaryKey>${ENTITY_KEY}</SecondaryKey></AuthorizationRule></AuthorizationRules></QueueDescription></content></entry>`;

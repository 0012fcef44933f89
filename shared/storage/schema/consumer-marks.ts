/**
 * The attribute of new items of logs that have consumers. The filter of the function that reads the messages table's
 * stream selects them, so it is called for no other item.
 */
export const CONSUMER_MARK = 'j';

/** The values of the mark. */
export const CONSUMER_MARKS = {
  /** An item whose creation makes messages available: a block of messages, or a note that some came back. */
  stored: '1',
  /** An entry of the ready-session index, whose creation and whose changes make a session available. */
  ready: '2',
} as const;

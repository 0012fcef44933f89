/** Characters of a reason, and of a description. */
const TEXT_MAX = 4096;

/** Asks why a message is dead-lettered. */
export function ReasonFields() {
  return (
    <>
      <label class="field">
        Reason
        <input name="reason" maxLength={TEXT_MAX} />
      </label>
      <label class="field">
        Description
        <input name="description" maxLength={TEXT_MAX} />
      </label>
    </>
  );
}

/** What was written into `ReasonFields`, as the calls of the service have it. */
export function readReason(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  return {
    deadLetterReason: text('reason'),
    deadLetterErrorDescription: text('description'),
  };
}

using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Receiving;

internal sealed class SettlementChecks(Bus bus)
{
    [Check("a completed message is gone; completed again: MessageLockLost")]
    public async Task Complete()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "once");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var message = await receiver.ReceiveOne();
        await receiver.CompleteMessageAsync(message);
        Expect.Sequence([], await bus.Content(queue));
        await Refused(ServiceBusFailureReason.MessageLockLost, () => receiver.CompleteMessageAsync(message));
    }

    [Check("an abandoned message comes back first, with changed properties and a higher count")]
    public async Task Abandon()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "a", "b");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var changes = new Dictionary<string, object> { ["try"] = 1, ["why"] = "later" };
        await receiver.AbandonMessageAsync(await receiver.ReceiveOne(), changes);
        var again = await receiver.ReceiveOne();
        Expect.Equal("a", again.Body.ToString());
        Expect.Equal(2, again.DeliveryCount);
        Expect.Equal(1, again.ApplicationProperties["try"]);
        Expect.Equal("later", again.ApplicationProperties["why"]);
    }

    [Check("a message that is abandoned as often as the queue allows becomes a dead letter with the reason")]
    public async Task MaxDeliveryCount()
    {
        var queue = await bus.NewQueue(options => options.MaxDeliveryCount = 3);
        await bus.Send(queue, "poison");
        await using var receiver = bus.Client.CreateReceiver(queue);
        foreach (var count in new[] { 1, 2, 3 })
        {
            var message = await receiver.ReceiveOne();
            Expect.Equal(count, message.DeliveryCount);
            await receiver.AbandonMessageAsync(message);
        }

        await receiver.ExpectNothing();
        await using var graves = bus.DeadLettersOf(queue);
        var dead = await graves.ReceiveOne();
        Expect.Equal("poison", dead.Body.ToString());
        Expect.Equal("MaxDeliveryCountExceeded", dead.DeadLetterReason);
        Expect.Equal("Message could not be consumed after 3 delivery attempts.", dead.DeadLetterErrorDescription);
        Expect.Equal(4, dead.DeliveryCount);
    }

    [Check("a message is dead-lettered with reason, description and changed properties")]
    public async Task DeadLetter()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "bad");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var message = await receiver.ReceiveOne();
        var changes = new Dictionary<string, object> { ["line"] = 7 };
        await receiver.DeadLetterMessageAsync(message, changes, "Unreadable", "line 7 is no JSON");
        Expect.Sequence([], await bus.Content(queue));
        await using var graves = bus.DeadLettersOf(queue);
        var dead = await graves.ReceiveOne();
        Expect.Equal("Unreadable", dead.DeadLetterReason);
        Expect.Equal("line 7 is no JSON", dead.DeadLetterErrorDescription);
        Expect.Equal(7, dead.ApplicationProperties["line"]);
        Expect.Equal(message.SequenceNumber, dead.SequenceNumber);
        await graves.CompleteMessageAsync(dead);
        Expect.Sequence([], await bus.Content(queue, SubQueue.DeadLetter));
    }

    [Check("a message is dead-lettered without a reason, or with a reason among its properties")]
    public async Task DeadLetterWithoutReason()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "bare", "told");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var messages = await receiver.ReceiveAll(2);
        await receiver.DeadLetterMessageAsync(messages[0]);
        var reasons = new Dictionary<string, object> { ["DeadLetterReason"] = "told so" };
        await receiver.DeadLetterMessageAsync(messages[1], reasons);
        await using var graves = bus.DeadLettersOf(queue);
        var dead = await graves.ReceiveAll(2);
        Expect.Sequence(["bare", "told"], dead.Bodies());
        Expect.Sequence([null, "told so"], dead.Select(message => message.DeadLetterReason));
    }

    [Check("a dead letter cannot be dead-lettered again, but abandoned and deferred")]
    public async Task DeadLetterOfDeadLetter()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "dead");
        await using var receiver = bus.Client.CreateReceiver(queue);
        await receiver.DeadLetterMessageAsync(await receiver.ReceiveOne());
        await using var graves = bus.DeadLettersOf(queue);
        var dead = await graves.ReceiveOne();
        await Expect.Throws<InvalidOperationException>(() => graves.DeadLetterMessageAsync(dead));
        await graves.AbandonMessageAsync(dead);
        var again = await graves.ReceiveOne();
        await graves.DeferMessageAsync(again);
        var deferred = await graves.ReceiveDeferredMessageAsync(again.SequenceNumber);
        await graves.CompleteMessageAsync(deferred);
        Expect.Sequence([], await bus.Content(queue, SubQueue.DeadLetter));
    }

    [Check("a deferred message is received only by its number, with the properties it was given")]
    public async Task Defer()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "a", "b");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var first = await receiver.ReceiveOne();
        await receiver.DeferMessageAsync(first, new Dictionary<string, object> { ["step"] = 2 });
        Expect.Equal("b", await receiver.CompleteOne());
        await receiver.ExpectNothing();
        var deferred = await receiver.ReceiveDeferredMessageAsync(first.SequenceNumber);
        Expect.Equal("a", deferred.Body.ToString());
        Expect.Equal(2, deferred.ApplicationProperties["step"]);
        Expect.Equal(ServiceBusMessageState.Deferred, deferred.State);
        Expect.Equal(2, deferred.DeliveryCount);
        await receiver.CompleteMessageAsync(deferred);
        Expect.Sequence([], await bus.Content(queue));
    }

    [Check("several deferred messages come with one call; one that is missing: MessageNotFound for all")]
    public async Task DeferredTogether()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, Numbered("m", 5));
        await using var receiver = bus.Client.CreateReceiver(queue);
        var messages = await receiver.ReceiveAll(5);
        await Task.WhenAll(messages.Select(message => receiver.DeferMessageAsync(message)));
        var numbers = messages.Select(message => message.SequenceNumber).ToList();
        await Refused(
            ServiceBusFailureReason.MessageNotFound,
            () => receiver.ReceiveDeferredMessagesAsync([.. numbers, 9999]));
        var deferred = await receiver.ReceiveDeferredMessagesAsync(numbers);
        Expect.Sequence(Numbered("m", 5), deferred.Bodies());
        await receiver.AbandonMessageAsync(deferred[0]);
        await receiver.DeadLetterMessageAsync(deferred[1], "no");
        await receiver.CompleteMessageAsync(deferred[2]);
        Expect.Sequence(["m1", "m4", "m5"], await bus.Content(queue));
        Expect.Sequence(["m2"], await bus.Content(queue, SubQueue.DeadLetter));
    }

    [Check("a number that is not deferred cannot be received as deferred: MessageNotFound")]
    public async Task NotDeferred()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "active");
        await using var receiver = bus.Client.CreateReceiver(queue);
        await Refused(ServiceBusFailureReason.MessageNotFound, () => receiver.ReceiveDeferredMessageAsync(1));
        Expect.Equal("active", await receiver.CompleteOne());
    }

    [Check("100 messages are completed at the same time")]
    public async Task CompletedAtOnce()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, Numbered("m", 100));
        await using var receiver = bus.Client.CreateReceiver(queue);
        var messages = await receiver.ReceiveAll(100);
        await Task.WhenAll(messages.Select(message => receiver.CompleteMessageAsync(message)));
        Expect.Sequence([], await bus.Content(queue));
    }
}

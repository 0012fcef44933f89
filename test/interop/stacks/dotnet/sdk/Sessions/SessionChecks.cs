using System.Diagnostics;
using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Sessions;

internal sealed class SessionChecks(Bus bus)
{
    [Check("a session receiver gets the messages of its session only, in order")]
    public async Task OwnMessagesOnly()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "a1", "a2");
        await bus.SendToSession(queue, "B", "b1");
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        Expect.Equal("A", receiver.SessionId);
        var messages = await receiver.ReceiveAll(2);
        Expect.Sequence(["a1", "a2"], messages.Bodies());
        Expect.Sequence(["A", "A"], messages.Select(message => message.SessionId));
        await receiver.ExpectNothing();
        Expect.Sequence(["a1", "a2"], (await receiver.PeekMessagesAsync(10)).Bodies());
    }

    [Check("the next session is one with messages that nobody holds; if there is none: ServiceTimeout")]
    public async Task NextSession()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "a");
        await bus.SendToSession(queue, "B", "b");
        await using var client = bus.NewImpatientClient(trySeconds: 6);
        await using var one = await client.AcceptNextSessionAsync(queue);
        await using var two = await client.AcceptNextSessionAsync(queue);
        Expect.Sequence(["A", "B"], new[] { one.SessionId, two.SessionId }.Order());
        var watch = Stopwatch.StartNew();
        await Refused(
            ServiceBusFailureReason.ServiceTimeout, () => client.AcceptNextSessionAsync(queue), isTransient: true);
        Expect.Between(5.5, 40, watch.Elapsed.TotalSeconds);
    }

    [Check("who waits for the next session gets it when its first message comes")]
    public async Task WaitForNextSession()
    {
        var queue = await bus.NewSessionQueue();
        var waiting = bus.Client.AcceptNextSessionAsync(queue);
        await Task.Delay(TimeSpan.FromSeconds(1));
        await bus.SendToSession(queue, "late", "at last");
        await using var receiver = await waiting;
        Expect.Equal("late", receiver.SessionId);
        Expect.Equal("at last", await receiver.CompleteOne());
    }

    [Check("a session that another receiver holds: SessionCannotBeLocked, until it closes")]
    public async Task TakenSession()
    {
        var queue = await bus.NewSessionQueue();
        await using var client = bus.NewImpatientClient(trySeconds: 20);
        var holder = await client.AcceptSessionAsync(queue, "A");
        await Refused(ServiceBusFailureReason.SessionCannotBeLocked, () => client.AcceptSessionAsync(queue, "A"));
        await holder.CloseAsync();
        await using var next = await client.AcceptSessionAsync(queue, "A");
        Expect.Equal("A", next.SessionId);
    }

    [Check("a session's lock that runs out: SessionLockLost, the receiver is closed, and its messages come again")]
    public async Task SessionLockLost()
    {
        var queue = await bus.NewSessionQueue(options => options.LockDuration = ShortLock);
        await bus.SendToSession(queue, "A", "held");
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        var message = await receiver.ReceiveOne();
        await UntilAfter(receiver.SessionLockedUntil);
        await Refused(ServiceBusFailureReason.SessionLockLost, () => receiver.CompleteMessageAsync(message));
        await Expect.Eventually(() => receiver.IsClosed);
        await Expect.Throws<ObjectDisposedException>(() => receiver.RenewSessionLockAsync());
        await using var next = await bus.Client.AcceptNextSessionAsync(queue);
        var again = await next.ReceiveOne();
        Expect.Equal("held 2", $"{again.Body} {again.DeliveryCount}");
    }

    [Check("a renewed session lock lasts its whole duration from then on")]
    public async Task RenewSessionLock()
    {
        var queue = await bus.NewSessionQueue(options => options.LockDuration = TimeSpan.FromSeconds(10));
        await bus.SendToSession(queue, "A", "held");
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        var message = await receiver.ReceiveOne();
        var first = receiver.SessionLockedUntil;
        await Task.Delay(TimeSpan.FromSeconds(4));
        await receiver.RenewSessionLockAsync();
        Expect.Between(7.0, 10.1, (receiver.SessionLockedUntil - DateTimeOffset.UtcNow).TotalSeconds);
        await UntilAfter(first);
        await receiver.CompleteMessageAsync(message);
    }

    [Check("what a holder has not settled comes again when it closes, and that delivery does not count")]
    public async Task ClosedHolder()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "a1", "a2");
        var holder = await bus.Client.AcceptSessionAsync(queue, "A");
        await holder.ReceiveAll(2);
        await holder.CloseAsync();
        await using var next = await bus.Client.AcceptSessionAsync(queue, "A");
        var messages = await next.ReceiveAll(2);
        Expect.Sequence(["a1 1", "a2 1"], messages.Select(message => $"{message.Body} {message.DeliveryCount}"));
    }

    [Check("an abandoned message of a session is the next one")]
    public async Task Abandoned()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "a1", "a2");
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        await receiver.AbandonMessageAsync(await receiver.ReceiveOne());
        Expect.Sequence(["a1", "a2"], (await receiver.ReceiveAll(2)).Bodies());
    }

    [Check("deferred messages of a session come to its holder by number")]
    public async Task Deferred()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "a1", "a2");
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        var first = await receiver.ReceiveOne();
        await receiver.DeferMessageAsync(first);
        Expect.Equal("a2", await receiver.CompleteOne());
        var deferred = await receiver.ReceiveDeferredMessageAsync(first.SequenceNumber);
        await receiver.CompleteMessageAsync(deferred);
        Expect.Equal(0, (await receiver.PeekMessagesAsync(10, fromSequenceNumber: 0)).Count);
    }

    [Check("dead letters of a session queue are received without a session, and keep its id")]
    public async Task DeadLetters()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "bad");
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        await receiver.DeadLetterMessageAsync(await receiver.ReceiveOne(), "bad");
        await using var graves = bus.DeadLettersOf(queue);
        var dead = await graves.ReceiveOne();
        Expect.Equal("bad A", $"{dead.DeadLetterReason} {dead.SessionId}");
        await graves.CompleteMessageAsync(dead);
    }

    [Check("a queue with sessions refuses a plain receiver, and one without sessions a session receiver")]
    public async Task WrongKind()
    {
        var (plain, sessions) = (await bus.NewQueue(), await bus.NewSessionQueue());
        await using var receiver = bus.Client.CreateReceiver(sessions);
        var first = await Expect.Throws<InvalidOperationException>(() => receiver.ReceiveMessageAsync(Moment));
        Expect.True(first.Message.Contains("create a non-sessionful message receiver"), first.Message);
        var second = await Expect.Throws<InvalidOperationException>(() => bus.Client.AcceptSessionAsync(plain, "A"));
        Expect.True(second.Message.Contains("create a sessionful message receiver"), second.Message);
    }

    [Check("a message without a session id is refused by a queue with sessions")]
    public async Task MissingSessionId()
    {
        var queue = await bus.NewSessionQueue();
        await using var sender = bus.Client.CreateSender(queue);
        var error = await Expect.Throws<InvalidOperationException>(
            () => sender.SendMessageAsync(new ServiceBusMessage("lost")));
        Expect.True(error.Message.Contains("The SessionId was not set on a message"), error.Message);
    }

    [Check("a session receiver in ReceiveAndDelete removes what it brings")]
    public async Task ReceiveAndDelete()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "a1", "a2");
        var options = new ServiceBusSessionReceiverOptions { ReceiveMode = ServiceBusReceiveMode.ReceiveAndDelete };
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A", options);
        Expect.Equal("a1", (await receiver.ReceiveOne()).Body.ToString());
        Expect.Sequence(["a2"], (await receiver.PeekMessagesAsync(10)).Bodies());
    }
}

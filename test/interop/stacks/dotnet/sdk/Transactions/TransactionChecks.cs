using System.Transactions;
using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Transactions;

internal sealed class TransactionChecks(Bus bus)
{
    [Check("sends and a completion of one queue take effect together when the scope completes")]
    public async Task Committed()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "order");
        await using var receiver = bus.Client.CreateReceiver(queue);
        await using var sender = bus.Client.CreateSender(queue);
        var order = await receiver.ReceiveOne();
        using (var scope = NewScope())
        {
            await sender.SendMessageAsync(new ServiceBusMessage("answer 1"));
            await sender.SendMessagesAsync([new("answer 2"), new("answer 3")]);
            await receiver.CompleteMessageAsync(order);
            Expect.Sequence(["order"], await Peeked(queue));
            scope.Complete();
        }

        await Expect.Eventually(async () => string.Join(' ', await Peeked(queue)) == "answer 1 answer 2 answer 3");
        await Refused(ServiceBusFailureReason.MessageLockLost, () => receiver.CompleteMessageAsync(order));
    }

    [Check("a scope that is not completed leaves nothing behind, and the lock is good for another try")]
    public async Task RolledBack()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "order");
        await using var receiver = bus.Client.CreateReceiver(queue);
        await using var sender = bus.Client.CreateSender(queue);
        var order = await receiver.ReceiveOne();
        using (NewScope())
        {
            await sender.SendMessageAsync(new ServiceBusMessage("answer"));
            await receiver.CompleteMessageAsync(order);
        }

        Expect.Sequence(["order"], await Peeked(queue));
        await Expect.Eventually(async () =>
        {
            await receiver.CompleteMessageAsync(order);
            return true;
        });
        Expect.Sequence([], await Peeked(queue));
    }

    [Check("abandon, defer and dead-letter are part of a transaction, too")]
    public async Task OtherSettlements()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "abandon", "defer", "dead-letter");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var messages = await receiver.ReceiveAll(3);
        using (var scope = NewScope())
        {
            await receiver.AbandonMessageAsync(messages[0]);
            await receiver.DeferMessageAsync(messages[1]);
            await receiver.DeadLetterMessageAsync(messages[2], "bad");
            scope.Complete();
        }

        await Expect.Eventually(async () => (await bus.Content(queue, SubQueue.DeadLetter)).Count == 1);
        Expect.Equal("abandon", await receiver.CompleteOne());
        var deferred = await receiver.ReceiveDeferredMessageAsync(messages[1].SequenceNumber);
        Expect.Equal("defer", deferred.Body.ToString());
    }

    [Check("what is scheduled in a transaction comes only if it is committed")]
    public async Task Scheduled()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        using (NewScope())
        {
            await sender.ScheduleMessageAsync(new ServiceBusMessage("rolled back"), DateTimeOffset.UtcNow.AddHours(1));
        }

        using (var scope = NewScope())
        {
            await sender.ScheduleMessageAsync(new ServiceBusMessage("committed"), DateTimeOffset.UtcNow.AddHours(1));
            scope.Complete();
        }

        await Expect.Eventually(async () => (await Peeked(queue)).Count > 0);
        Expect.Sequence(["committed"], await Peeked(queue));
    }

    [Check("in a session a transaction completes messages and sends, all or nothing")]
    public async Task Session()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "order");
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        await using var sender = bus.Client.CreateSender(queue);
        var order = await receiver.ReceiveOne();
        foreach (var isCommitted in new[] { false, true })
        {
            using var scope = NewScope();
            await receiver.CompleteMessageAsync(order);
            await sender.SendMessageAsync(new ServiceBusMessage("answer") { SessionId = "A" });
            if (isCommitted)
            {
                scope.Complete();
            }
        }

        await Expect.Eventually(async () =>
            (await receiver.PeekMessagesAsync(10, fromSequenceNumber: 0)).Bodies() is ["answer"]);
        Expect.Equal("answer", await receiver.CompleteOne());
    }

    [Check("a client across entities receives from A and sends to B and C in one transaction")]
    public async Task AcrossEntities()
    {
        var (a, b, c) = (await bus.NewQueue(), await bus.NewQueue(), await bus.NewTopic());
        var subscription = await bus.NewSubscription(c);
        await bus.Send(a, "first", "second");
        await using var client = bus.NewClient(options => options.EnableCrossEntityTransactions = true);
        await using var receiver = client.CreateReceiver(a);
        await using var toB = client.CreateSender(b);
        await using var toC = client.CreateSender(c);
        foreach (var message in await receiver.ReceiveAll(2))
        {
            using var scope = NewScope();
            await receiver.CompleteMessageAsync(message);
            await toB.SendMessageAsync(new ServiceBusMessage($"b of {message.Body}"));
            await toC.SendMessageAsync(new ServiceBusMessage($"c of {message.Body}"));
            if (message.Body.ToString() == "second")
            {
                scope.Complete();
            }
        }

        await using var ofTopic = bus.Client.CreateReceiver(c, subscription);
        Expect.Equal("c of second", await ofTopic.CompleteOne());
        await ofTopic.ExpectNothing();
        Expect.Sequence(["b of second"], await Peeked(b));
        Expect.Sequence(["first"], await Peeked(a));
    }

    [Check("across entities a transaction that settles messages of two queues is refused as a whole")]
    public async Task SettledInTwoQueues()
    {
        var (a, b) = (await bus.NewQueue(), await bus.NewQueue());
        await bus.Send(a, "a");
        await bus.Send(b, "b");
        await using var client = bus.NewClient(options => options.EnableCrossEntityTransactions = true);
        await using var fromA = client.CreateReceiver(a);
        await using var fromB = client.CreateReceiver(b);
        var (first, second) = (await fromA.ReceiveOne(), await fromB.ReceiveOne());
        await Expect.Throws<TransactionInDoubtException>(async () =>
        {
            using var scope = NewScope();
            await fromA.CompleteMessageAsync(first);
            await fromB.CompleteMessageAsync(second);
            scope.Complete();
        });
        Expect.Sequence(["a"], await Peeked(a));
        Expect.Sequence(["b"], await Peeked(b));
    }

    [Check("a transaction of 101 messages is refused, and none of them arrives")]
    public async Task TooMany()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        await Expect.Throws<InvalidOperationException>(async () =>
        {
            using var scope = NewScope();
            await sender.SendMessagesAsync(Numbered("m", 60).Select(body => new ServiceBusMessage(body)));
            await sender.SendMessagesAsync(Numbered("n", 41).Select(body => new ServiceBusMessage(body)));
            scope.Complete();
        });
        Expect.Sequence([], await Peeked(queue));
    }

    [Check("a scope that runs into its timeout rolls back")]
    public async Task TimedOut()
    {
        var queue = await bus.NewQueue();
        await using var sender = bus.Client.CreateSender(queue);
        await Expect.Throws<TransactionAbortedException>(async () =>
        {
            using var scope = new TransactionScope(
                TransactionScopeOption.Required, TimeSpan.FromSeconds(4), TransactionScopeAsyncFlowOption.Enabled);
            await sender.SendMessageAsync(new ServiceBusMessage("late"));
            await Task.Delay(TimeSpan.FromSeconds(5));
            scope.Complete();
        });
        Expect.Sequence([], await Peeked(queue));
    }

    [Check("a settlement whose lock is lost makes the whole transaction fail")]
    public async Task LostLock()
    {
        var queue = await bus.NewQueue(options => options.LockDuration = ShortLock);
        await bus.Send(queue, "order");
        await using var receiver = bus.Client.CreateReceiver(queue);
        await using var sender = bus.Client.CreateSender(queue);
        var order = await receiver.ReceiveOne();
        await UntilAfter(order.LockedUntil);
        await Expect.Throws<TransactionInDoubtException>(async () =>
        {
            using var scope = NewScope();
            await sender.SendMessageAsync(new ServiceBusMessage("answer"));
            await receiver.CompleteMessageAsync(order);
            scope.Complete();
        });
        Expect.Sequence(["order"], await Peeked(queue));
    }

    private static TransactionScope NewScope() => new(TransactionScopeAsyncFlowOption.Enabled);

    /// <summary>Looks from outside of the transaction that may be under way.</summary>
    private async Task<IReadOnlyList<string>> Peeked(string queue)
    {
        using var outside = new TransactionScope(
            TransactionScopeOption.Suppress, TransactionScopeAsyncFlowOption.Enabled);
        return await bus.Content(queue);
    }
}

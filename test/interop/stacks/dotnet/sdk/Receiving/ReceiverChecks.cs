using System.Diagnostics;
using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Receiving;

internal sealed class ReceiverChecks(Bus bus)
{
    [Check("a receive that finds nothing is over after its wait, with null or an empty list")]
    public async Task NothingThere()
    {
        var queue = await bus.NewQueue();
        await using var receiver = bus.Client.CreateReceiver(queue);
        var watch = Stopwatch.StartNew();
        Expect.Equal(null, await receiver.ReceiveMessageAsync(TimeSpan.FromSeconds(2)));
        Expect.Between(1.9, 20, watch.Elapsed.TotalSeconds);
        Expect.Equal(0, (await receiver.ReceiveMessagesAsync(10, TimeSpan.FromSeconds(1))).Count);
    }

    [Check("a receive that waits gets a message as soon as it is sent")]
    public async Task WaitingReceive()
    {
        var queue = await bus.NewQueue();
        await using var receiver = bus.Client.CreateReceiver(queue);
        var waiting = receiver.ReceiveMessageAsync(TimeSpan.FromSeconds(40));
        await Task.Delay(TimeSpan.FromSeconds(1));
        await bus.Send(queue, "at last");
        var watch = Stopwatch.StartNew();
        Expect.Equal("at last", Expect.Present(await waiting).Body.ToString());
        Expect.Between(0, 20, watch.Elapsed.TotalSeconds);
    }

    [Check("a receive of many brings what is there and does not wait for more")]
    public async Task FewerThanAsked()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "a", "b", "c");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var watch = Stopwatch.StartNew();
        Expect.Sequence(["a", "b", "c"], (await receiver.ReceiveMessagesAsync(100, TimeSpan.FromSeconds(40))).Bodies());
        Expect.Between(0, 20, watch.Elapsed.TotalSeconds);
    }

    [Check("a receive brings no more than it asked for")]
    public async Task NoMoreThanAsked()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, Numbered("m", 10));
        await using var receiver = bus.Client.CreateReceiver(queue);
        Expect.Sequence(Numbered("m", 4), (await receiver.ReceiveMessagesAsync(4)).Bodies());
        await using var other = bus.Client.CreateReceiver(queue);
        Expect.Sequence(["m5", "m6", "m7", "m8", "m9", "m10"], (await other.ReceiveAll(6)).Bodies());
    }

    [Check("await foreach over ReceiveMessagesAsync brings every message in order, until it is cancelled")]
    public async Task Enumeration()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, Numbered("m", 30));
        await using var receiver = bus.Client.CreateReceiver(queue);
        using var enough = new CancellationTokenSource();
        var found = new List<string>();
        await Expect.Throws<OperationCanceledException>(async () =>
        {
            await foreach (var message in receiver.ReceiveMessagesAsync(enough.Token))
            {
                found.Add(message.Body.ToString());
                await receiver.CompleteMessageAsync(message);
                if (found.Count == 30)
                {
                    enough.CancelAfter(TimeSpan.FromMilliseconds(200));
                }
            }
        });
        Expect.Sequence(Numbered("m", 30), found);
        Expect.Sequence([], await bus.Content(queue));
    }

    [Check("ReceiveAndDelete removes what it brings, without a lock, and nothing else")]
    public async Task ReceiveAndDelete()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "a", "b", "c");
        await using var receiver = bus.Client.CreateReceiver(
            queue, new ServiceBusReceiverOptions { ReceiveMode = ServiceBusReceiveMode.ReceiveAndDelete });
        Expect.Sequence(["a", "b"], (await receiver.ReceiveMessagesAsync(2)).Bodies());
        Expect.Sequence(["c"], await bus.Content(queue));
        var last = await receiver.ReceiveOne();
        await Expect.Throws<InvalidOperationException>(() => receiver.CompleteMessageAsync(last));
        Expect.Sequence([], await bus.Content(queue));
    }

    [Check("with a prefetch of 100 and of 1 every message comes once and in order")]
    public async Task Prefetch()
    {
        foreach (var prefetch in new[] { 1, 100 })
        {
            var queue = await bus.NewQueue();
            await bus.Send(queue, Numbered("m", 20));
            await using var receiver = bus.Client.CreateReceiver(
                queue, new ServiceBusReceiverOptions { PrefetchCount = prefetch });
            var found = new List<string>();
            while (found.Count < 20)
            {
                found.Add(await receiver.CompleteOne());
            }

            Expect.Sequence(Numbered("m", 20), found);
            Expect.Sequence([], await bus.Content(queue));
        }
    }

    [Check("what a receiver has prefetched is locked for it, and comes back when it closes or the lock ends")]
    public async Task PrefetchedIsLocked()
    {
        var queue = await bus.NewQueue(options => options.LockDuration = ShortLock);
        await bus.Send(queue, "a", "b");
        var greedy = bus.Client.CreateReceiver(queue, new ServiceBusReceiverOptions { PrefetchCount = 10 });
        var first = await greedy.ReceiveOne();
        await greedy.CompleteMessageAsync(first);
        await using var other = bus.Client.CreateReceiver(queue);
        await other.ExpectNothing();
        await greedy.CloseAsync();
        Expect.Equal("b", (await other.ReceiveOne()).Body.ToString());
    }

    [Check("two receivers of one queue never get the same message")]
    public async Task Competing()
    {
        var queue = await bus.NewQueue();
        var bodies = Numbered("m", 100);
        await bus.Send(queue, bodies);
        await using var one = bus.Client.CreateReceiver(queue);
        await using var another = bus.Client.CreateReceiver(queue);
        var parts = await Task.WhenAll(Drain(one), Drain(another));
        Expect.Sequence(bodies.Order(), parts.SelectMany(part => part).Order());
    }

    [Check("peeks go on from where the last one ended, and begin anew at a given number")]
    public async Task Peek()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, Numbered("m", 10));
        await using var receiver = bus.Client.CreateReceiver(queue);
        Expect.Sequence(Numbered("m", 4), (await receiver.PeekMessagesAsync(4)).Bodies());
        Expect.Equal("m5", (await receiver.PeekMessageAsync()).Body.ToString());
        Expect.Sequence(["m8", "m9", "m10"], (await receiver.PeekMessagesAsync(5, fromSequenceNumber: 8)).Bodies());
        Expect.Equal(null, await receiver.PeekMessageAsync(fromSequenceNumber: 11));
        Expect.Equal(0, (await receiver.PeekMessagesAsync(5)).Count);
    }

    [Check("a peek shows locked and deferred messages, gives no lock and counts no delivery")]
    public async Task PeekChangesNothing()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "locked", "deferred", "free");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var received = await receiver.ReceiveAll(2);
        await receiver.DeferMessageAsync(received[1]);
        var shown = await receiver.PeekMessagesAsync(10);
        Expect.Sequence(["locked", "deferred", "free"], shown.Bodies());
        Expect.Sequence(
            [ServiceBusMessageState.Active, ServiceBusMessageState.Deferred, ServiceBusMessageState.Active],
            shown.Select(message => message.State));
        Expect.Equal(0, shown[2].DeliveryCount);
        await Expect.Throws<InvalidOperationException>(() => receiver.CompleteMessageAsync(shown[2]));
        Expect.Equal(1, (await receiver.ReceiveOne()).DeliveryCount);
    }

    [Check("a message whose time to live is over is not received; the queue dead-letters it if it is set so")]
    public async Task Expiry()
    {
        var queue = await bus.NewQueue(options => options.DeadLetteringOnMessageExpiration = true);
        await using var sender = bus.Client.CreateSender(queue);
        await sender.SendMessageAsync(new ServiceBusMessage("old") { TimeToLive = TimeSpan.FromMilliseconds(100) });
        await Task.Delay(TimeSpan.FromMilliseconds(300));
        await using var receiver = bus.Client.CreateReceiver(queue);
        await receiver.ExpectNothing();
        await using var graves = bus.DeadLettersOf(queue);
        var dead = await graves.ReceiveOne();
        Expect.Equal("TTLExpiredException", dead.DeadLetterReason);
        Expect.Equal("The message expired and was dead lettered.", dead.DeadLetterErrorDescription);
    }

    [Check("the queue's time to live is a ceiling for that of a message")]
    public async Task QueueTimeToLive()
    {
        var queue = await bus.NewQueue(options => options.DefaultMessageTimeToLive = TimeSpan.FromMinutes(1));
        await using var sender = bus.Client.CreateSender(queue);
        await sender.SendMessagesAsync(
            [new("none"), new("longer") { TimeToLive = TimeSpan.FromHours(1) }, new("less") { TimeToLive = TimeSpan.FromSeconds(30) }]);
        await using var receiver = bus.Client.CreateReceiver(queue);
        var received = await receiver.ReceiveAll(3);
        Expect.Sequence([60, 60, 30], received.Select(message => (int)message.TimeToLive.TotalSeconds));
    }

    private static async Task<List<string>> Drain(ServiceBusReceiver receiver)
    {
        var found = new List<string>();
        while (await receiver.ReceiveMessagesAsync(7, TimeSpan.FromSeconds(2)) is { Count: > 0 } messages)
        {
            foreach (var message in messages)
            {
                found.Add(message.Body.ToString());
                await receiver.CompleteMessageAsync(message);
            }
        }

        return found;
    }
}

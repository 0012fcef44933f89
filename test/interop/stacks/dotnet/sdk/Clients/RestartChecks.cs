using System.Collections.Concurrent;
using Azure.Messaging.ServiceBus;
using Dynabus.Checks.Sdk.Processing;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Clients;

/// <summary>What a running program sees when the namespace ends and starts again. It keeps its clients.</summary>
internal sealed class RestartChecks(Bus bus)
{
    [Check("sender, receiver and session receiver go on after a restart; what was completed stays so, the rest is there", Alone = true)]
    public async Task SenderAndReceiver()
    {
        var queue = await bus.NewQueue();
        var sessions = await bus.NewSessionQueue(options => options.LockDuration = ShortLock);
        await using var sender = bus.Client.CreateSender(queue);
        await using var receiver = bus.Client.CreateReceiver(queue);
        await bus.SendToSession(sessions, "A", "a1", "a2");
        await using var session = await bus.Client.AcceptSessionAsync(sessions, "A");
        await session.SetSessionStateAsync(BinaryData.FromString("state"));
        await session.CompleteMessageAsync(await session.ReceiveOne());
        await sender.SendMessagesAsync(Numbered("m", 4).Select(body => new ServiceBusMessage(body)));
        await receiver.CompleteMessageAsync(await receiver.ReceiveOne());
        await bus.Restart();
        await sender.SendMessageAsync(new ServiceBusMessage("after"));
        var messages = await receiver.ReceiveAll(4);
        Expect.Sequence(["m2", "m3", "m4", "after"], messages.Bodies());
        await Task.WhenAll(messages.Select(message => receiver.CompleteMessageAsync(message)));
        Expect.Sequence([], await bus.Content(queue));
        await using var again = await AcceptWhenFree(sessions, "A");
        Expect.Equal("state", $"{await again.GetSessionStateAsync()}");
        Expect.Equal("a2", await again.CompleteOne());
    }

    [Check("a lock that was taken before a restart still completes its message, by its token", Alone = true)]
    public async Task LockOverARestart()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "held");
        await using var receiver = bus.Client.CreateReceiver(queue);
        var message = await receiver.ReceiveOne();
        await bus.Restart();
        await receiver.RenewMessageLockAsync(message);
        await receiver.CompleteMessageAsync(message);
        Expect.Sequence([], await bus.Content(queue));
    }

    [Check("processor and session processor go on after a restart, and every message is handled", Alone = true)]
    public async Task Processors()
    {
        var queue = await bus.NewQueue(options => options.LockDuration = ShortLock);
        var sessions = await bus.NewSessionQueue(options => options.LockDuration = ShortLock);
        var (plain, inSessions) = (new ConcurrentDictionary<string, int>(), new ConcurrentDictionary<string, int>());
        await using var processor = bus.Client.CreateProcessor(queue, new ServiceBusProcessorOptions { MaxConcurrentCalls = 4 });
        processor.ProcessMessageAsync += args => Handle(plain, args.Message);
        processor.ProcessErrorAsync += _ => Task.CompletedTask;
        await using var sessionProcessor = bus.Client.CreateSessionProcessor(
            sessions, new ServiceBusSessionProcessorOptions { SessionIdleTimeout = TimeSpan.FromSeconds(1) });
        sessionProcessor.ProcessMessageAsync += args => Handle(inSessions, args.Message);
        sessionProcessor.ProcessErrorAsync += _ => Task.CompletedTask;
        await processor.StartProcessingAsync();
        await sessionProcessor.StartProcessingAsync();
        await bus.Send(queue, Numbered("m", 40));
        await Task.WhenAll(new[] { "A", "B", "C" }.Select(name => bus.SendToSession(sessions, name, Numbered(name, 10))));
        await Expect.Eventually(() => plain.Count > 4 && inSessions.Count > 4);
        await bus.Restart();
        await bus.Send(queue, Numbered("n", 10));
        await bus.SendToSession(sessions, "D", Numbered("D", 5));
        await Expect.Eventually(() => plain.Count == 50);
        await Expect.Eventually(() => inSessions.Count == 35);
        await processor.StopProcessingAsync();
        await sessionProcessor.StopProcessingAsync();
        await Expect.Eventually(async () => (await bus.Content(queue)).Count == 0);
    }

    [Check("a receive and a wait for a session that a restart interrupts bring what is sent after it", Alone = true)]
    public async Task Waiting()
    {
        var (queue, sessions) = (await bus.NewQueue(), await bus.NewSessionQueue());
        await using var receiver = bus.Client.CreateReceiver(queue);
        var received = UntilItSucceeds(() => receiver.ReceiveMessageAsync(TimeSpan.FromSeconds(50)));
        var accepted = UntilItSucceeds(() => bus.Client.AcceptNextSessionAsync(sessions));
        await Task.Delay(TimeSpan.FromSeconds(1));
        await bus.Restart();
        await bus.Send(queue, "after");
        await bus.SendToSession(sessions, "A", "in A");
        Expect.Equal("after", (await received).Body.ToString());
        await using var session = await accepted;
        Expect.Equal("in A", await session.CompleteOne());
    }

    private static async Task Handle(ConcurrentDictionary<string, int> handled, ServiceBusReceivedMessage message)
    {
        await Task.Delay(TimeSpan.FromMilliseconds(100));
        handled.AddOrUpdate(message.Body.ToString(), 1, (_, count) => count + 1);
    }

    /// <summary>The client's own retries may be over before the namespace is back.</summary>
    private static async Task<T> UntilItSucceeds<T>(Func<Task<T>> operation)
        where T : class
    {
        while (true)
        {
            try
            {
                if (await operation() is { } result)
                {
                    return result;
                }
            }
            catch (ServiceBusException error) when (error.IsTransient)
            {
                await Task.Delay(TimeSpan.FromMilliseconds(200));
            }
        }
    }

    /// <summary>A session stays locked for its former link until the lock runs out.</summary>
    private async Task<ServiceBusSessionReceiver> AcceptWhenFree(string queue, string session)
    {
        for (var left = 20; ; left--)
        {
            try
            {
                return await bus.Client.AcceptSessionAsync(queue, session);
            }
            catch (ServiceBusException taken)
                when (taken.Reason == ServiceBusFailureReason.SessionCannotBeLocked && left > 0)
            {
                await Task.Delay(TimeSpan.FromMilliseconds(500));
            }
        }
    }
}

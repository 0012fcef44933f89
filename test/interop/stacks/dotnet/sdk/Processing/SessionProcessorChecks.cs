using System.Collections.Concurrent;
using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Processing;

internal sealed class SessionProcessorChecks(Bus bus)
{
    [Check("each session's messages are handled in order, as many sessions at once as MaxConcurrentSessions says")]
    public async Task OrderInSessions()
    {
        var queue = await bus.NewSessionQueue();
        string[] sessions = ["A", "B", "C", "D"];
        await Task.WhenAll(sessions.Select(session => bus.SendToSession(queue, session, Numbered(session, 8))));
        var handling = new Handling();
        await using var processor = await Started(
            queue,
            handling,
            options => (options.MaxConcurrentSessions, options.SessionIdleTimeout) = (2, TimeSpan.FromSeconds(1)),
            TimeSpan.FromMilliseconds(250));
        await handling.UntilHandled(32);
        await processor.StopProcessingAsync();
        Expect.Equal(2, handling.MostAtOnce);
        foreach (var session in sessions)
        {
            Expect.Sequence(Numbered(session, 8), handling.Bodies.Where(body => body.StartsWith(session)), session);
        }

        Expect.Equal(0, handling.Errors.Count);
    }

    [Check("one session's messages are handled at the same time, as MaxConcurrentCallsPerSession says")]
    public async Task CallsPerSession()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", Numbered("m", 12));
        var handling = new Handling();
        await using var processor = await Started(
            queue,
            handling,
            options => (options.MaxConcurrentSessions, options.MaxConcurrentCallsPerSession) = (1, 3),
            TimeSpan.FromMilliseconds(300));
        await handling.UntilHandled(12);
        Expect.Equal(3, handling.MostAtOnce);
    }

    [Check("SessionIds keeps a processor to these sessions")]
    public async Task SessionIds()
    {
        var queue = await bus.NewSessionQueue();
        await Task.WhenAll(new[] { "A", "B", "C" }.Select(session => bus.SendToSession(queue, session, session)));
        var handling = new Handling();
        await using var processor = await Started(queue, handling, options =>
        {
            options.SessionIds.Add("A");
            options.SessionIds.Add("C");
        });
        await handling.UntilHandled(2);
        await bus.SendToSession(queue, "C", "C again");
        await handling.UntilHandled(3);
        await processor.StopProcessingAsync();
        Expect.Sequence(["A", "C", "C again"], handling.Bodies.Order());
        await using var other = await bus.Client.AcceptSessionAsync(queue, "B");
        Expect.Equal("B", await other.CompleteOne());
    }

    [Check("a session that stays empty for SessionIdleTimeout is let go for the next one")]
    public async Task SessionIdleTimeout()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "a");
        await bus.SendToSession(queue, "B", "b");
        var handling = new Handling();
        await using var processor = await Started(queue, handling, options =>
            (options.MaxConcurrentSessions, options.SessionIdleTimeout) = (1, TimeSpan.FromSeconds(1)));
        await handling.UntilHandled(2);
        Expect.Sequence(["a", "b"], handling.Bodies.Order());
    }

    [Check("a processor tells when it begins and ends a session, each once, around its messages")]
    public async Task InitializingAndClosing()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "1", "2");
        var told = new ConcurrentQueue<string>();
        await using var processor = bus.Client.CreateSessionProcessor(
            queue, new ServiceBusSessionProcessorOptions { SessionIdleTimeout = TimeSpan.FromSeconds(1) });
        processor.SessionInitializingAsync += args => Tell($"begin {args.SessionId}");
        processor.SessionClosingAsync += args => Tell($"end {args.SessionId}");
        processor.ProcessMessageAsync += args => Tell($"{args.SessionId}{args.Message.Body}");
        processor.ProcessErrorAsync += _ => Task.CompletedTask;
        await processor.StartProcessingAsync();
        await Expect.Eventually(() => told.Count == 4);
        await processor.StopProcessingAsync();
        Expect.Sequence(["begin A", "A1", "A2", "end A"], told);

        Task Tell(string what)
        {
            told.Enqueue(what);
            return Task.CompletedTask;
        }
    }

    [Check("a handler reads and writes the state of its session")]
    public async Task State()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "x", "y", "z");
        var handling = new Handling();
        await using var processor = bus.Client.CreateSessionProcessor(queue);
        processor.ProcessMessageAsync += async args =>
        {
            var state = await args.GetSessionStateAsync();
            await args.SetSessionStateAsync(BinaryData.FromString($"{state}{args.Message.Body}"));
            await handling.Work(args.Message);
        };
        processor.ProcessErrorAsync += handling.Told;
        await processor.StartProcessingAsync();
        await handling.UntilHandled(3);
        await processor.CloseAsync();
        await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
        Expect.Equal("xyz", $"{await receiver.GetSessionStateAsync()}");
    }

    [Check("a session's lock is renewed for a handler that takes longer than it lasts")]
    public async Task AutoLockRenewal()
    {
        var queue = await bus.NewSessionQueue(options => options.LockDuration = ShortLock);
        await bus.SendToSession(queue, "A", "long", "short");
        var handling = new Handling();
        await using var processor = bus.Client.CreateSessionProcessor(queue);
        processor.ProcessMessageAsync += args => handling.Work(
            args.Message, TimeSpan.FromSeconds(args.Message.Body.ToString() == "long" ? 12 : 0));
        processor.ProcessErrorAsync += handling.Told;
        await processor.StartProcessingAsync();
        await handling.UntilHandled(2);
        await processor.StopProcessingAsync();
        Expect.Sequence(["long", "short"], handling.Bodies);
        Expect.Sequence([], handling.Errors.Select(error => error.Exception.Message));
    }

    [Check("a handler renews the session's lock itself, and lets the session go")]
    public async Task RenewAndRelease()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "first");
        var handling = new Handling();
        var ends = new ConcurrentQueue<DateTimeOffset>();
        await using var processor = bus.Client.CreateSessionProcessor(queue);
        processor.ProcessMessageAsync += async args =>
        {
            ends.Enqueue(args.SessionLockedUntil);
            await Task.Delay(TimeSpan.FromMilliseconds(1200));
            await args.RenewSessionLockAsync();
            ends.Enqueue(args.SessionLockedUntil);
            args.ReleaseSession();
            await handling.Work(args.Message);
        };
        processor.ProcessErrorAsync += handling.Told;
        await processor.StartProcessingAsync();
        await handling.UntilHandled(1);
        await Expect.Eventually(IsFree);
        Expect.Sequence(["first"], handling.Bodies);
        Expect.Between(1.0, 10, (ends.Last() - ends.First()).TotalSeconds);

        async Task<bool> IsFree()
        {
            try
            {
                await using var receiver = await bus.Client.AcceptSessionAsync(queue, "A");
                return true;
            }
            catch (ServiceBusException taken) when (taken.Reason == ServiceBusFailureReason.SessionCannotBeLocked)
            {
                return false;
            }
        }
    }

    [Check("a session handler that throws: its message comes next, again in order")]
    public async Task Throwing()
    {
        var queue = await bus.NewSessionQueue();
        await bus.SendToSession(queue, "A", "1", "2", "3");
        var handling = new Handling();
        await using var processor = bus.Client.CreateSessionProcessor(queue);
        processor.ProcessMessageAsync += async args =>
        {
            await handling.Work(args.Message);
            if (args.Message is { DeliveryCount: 1 } && args.Message.Body.ToString() == "2")
            {
                throw new InvalidDataException("unreadable");
            }
        };
        processor.ProcessErrorAsync += handling.Told;
        await processor.StartProcessingAsync();
        await handling.UntilHandled(4);
        await processor.StopProcessingAsync();
        Expect.Sequence(["1", "2", "2", "3"], handling.Bodies);
        Expect.Equal(ServiceBusErrorSource.ProcessMessageCallback, handling.Errors.Single().ErrorSource);
    }

    [Check("a session processor of a queue without sessions tells why it cannot work")]
    public async Task QueueWithoutSessions()
    {
        var queue = await bus.NewQueue();
        var handling = new Handling();
        await using var processor = await Started(queue, handling);
        await Expect.Eventually(() => !handling.Errors.IsEmpty);
        var error = handling.Errors.First();
        Expect.Equal(ServiceBusErrorSource.AcceptSession, error.ErrorSource);
        Expect.True(error.Exception is InvalidOperationException, $"it is a {error.Exception.GetType().Name}");
    }

    private async Task<ServiceBusSessionProcessor> Started(
        string queue,
        Handling handling,
        Action<ServiceBusSessionProcessorOptions>? change = null,
        TimeSpan? duration = null)
    {
        var options = new ServiceBusSessionProcessorOptions();
        change?.Invoke(options);
        var processor = bus.Client.CreateSessionProcessor(queue, options);
        processor.ProcessMessageAsync += args => handling.Work(args.Message, duration);
        processor.ProcessErrorAsync += handling.Told;
        await processor.StartProcessingAsync();
        return processor;
    }
}

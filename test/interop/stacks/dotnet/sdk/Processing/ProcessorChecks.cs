using Azure.Messaging.ServiceBus;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Processing;

internal sealed class ProcessorChecks(Bus bus)
{
    [Check("a processor completes what its handler has handled, and gets what comes later")]
    public async Task CompletesAutomatically()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "a", "b");
        var handling = new Handling();
        await using var processor = await Started(queue, handling);
        await handling.UntilHandled(2);
        await bus.Send(queue, "c");
        await handling.UntilHandled(3);
        await processor.StopProcessingAsync();
        Expect.Sequence(["a", "b", "c"], handling.Bodies);
        Expect.Sequence([], await bus.Content(queue));
        Expect.Equal(0, handling.Errors.Count);
    }

    [Check("a processor calls as many handlers at once as MaxConcurrentCalls says, and no more")]
    public async Task MaxConcurrentCalls()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, Numbered("m", 20));
        var handling = new Handling();
        await using var processor = await Started(
            queue, handling, options => options.MaxConcurrentCalls = 4, TimeSpan.FromMilliseconds(300));
        await handling.UntilHandled(20);
        Expect.Equal(4, handling.MostAtOnce);
        Expect.Sequence(Numbered("m", 20).Order(), handling.Bodies.Order());
    }

    [Check("UpdateConcurrency and UpdatePrefetchCount take effect while the processor runs")]
    public async Task UpdateConcurrency()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, Numbered("m", 5));
        var handling = new Handling();
        await using var processor = await Started(queue, handling, duration: TimeSpan.FromMilliseconds(200));
        await handling.UntilHandled(5);
        Expect.Equal(1, handling.MostAtOnce);
        processor.UpdateConcurrency(3);
        processor.UpdatePrefetchCount(10);
        Expect.Equal(3, processor.MaxConcurrentCalls);
        Expect.Equal(10, processor.PrefetchCount);
        await bus.Send(queue, Numbered("n", 15));
        await handling.UntilHandled(20);
        Expect.Equal(3, handling.MostAtOnce);
    }

    [Check("without AutoCompleteMessages the handler settles, and what it does not settle stays locked")]
    public async Task SettledByTheHandler()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "complete", "leave", "dead-letter", "defer");
        var handling = new Handling();
        await using var processor = bus.Client.CreateProcessor(
            queue, new ServiceBusProcessorOptions { AutoCompleteMessages = false });
        processor.ProcessMessageAsync += async args =>
        {
            var settlement = args.Message.Body.ToString() switch
            {
                "complete" => args.CompleteMessageAsync(args.Message),
                "dead-letter" => args.DeadLetterMessageAsync(args.Message, "bad", "very bad"),
                "defer" => args.DeferMessageAsync(args.Message),
                _ => Task.CompletedTask,
            };
            await settlement;
            await handling.Work(args.Message);
        };
        processor.ProcessErrorAsync += handling.Told;
        await processor.StartProcessingAsync();
        await handling.UntilHandled(4);
        await processor.StopProcessingAsync();
        Expect.Sequence(["leave", "defer"], await bus.Content(queue));
        Expect.Sequence(["dead-letter"], await bus.Content(queue, SubQueue.DeadLetter));
    }

    [Check("a handler that throws: the message is abandoned, and ProcessErrorAsync is told the source and the entity")]
    public async Task Throwing()
    {
        var queue = await bus.NewQueue(options => options.MaxDeliveryCount = 3);
        await bus.Send(queue, "poison");
        var handling = new Handling();
        await using var processor = bus.Client.CreateProcessor(
            queue, new ServiceBusProcessorOptions { Identifier = "thrower" });
        processor.ProcessMessageAsync += _ => throw new InvalidDataException("unreadable");
        processor.ProcessErrorAsync += handling.Told;
        await processor.StartProcessingAsync();
        await using var graves = bus.DeadLettersOf(queue);
        var dead = await graves.ReceiveOne();
        Expect.Equal("MaxDeliveryCountExceeded", dead.DeadLetterReason);
        await processor.StopProcessingAsync();
        Expect.Equal(3, handling.Errors.Count);
        var error = handling.Errors.First();
        Expect.Equal(ServiceBusErrorSource.ProcessMessageCallback, error.ErrorSource);
        Expect.Equal("unreadable", error.Exception.Message);
        Expect.Equal($"{queue} localhost thrower", $"{error.EntityPath} {error.FullyQualifiedNamespace} {error.Identifier}");
    }

    [Check("a lock is renewed for a handler that takes longer than it lasts")]
    public async Task AutoLockRenewal()
    {
        var queue = await bus.NewQueue(options => options.LockDuration = ShortLock);
        await bus.Send(queue, "long");
        var handling = new Handling();
        await using var processor = await Started(queue, handling, duration: TimeSpan.FromSeconds(12));
        await handling.UntilHandled(1);
        await processor.StopProcessingAsync();
        Expect.Sequence(["long"], handling.Bodies);
        Expect.Sequence([], await bus.Content(queue));
        Expect.Equal(0, handling.Errors.Count);
    }

    [Check("without renewal such a handler loses its lock: the error source is Complete, the reason MessageLockLost")]
    public async Task NoLockRenewal()
    {
        var queue = await bus.NewQueue(options =>
        {
            options.LockDuration = ShortLock;
            options.MaxDeliveryCount = 1;
        });
        await bus.Send(queue, "long");
        var handling = new Handling();
        await using var processor = await Started(
            queue, handling, options => options.MaxAutoLockRenewalDuration = TimeSpan.Zero, TimeSpan.FromSeconds(7));
        await Expect.Eventually(() => !handling.Errors.IsEmpty);
        var error = handling.Errors.First();
        Expect.Equal(ServiceBusErrorSource.Complete, error.ErrorSource);
        Expect.Equal(ServiceBusFailureReason.MessageLockLost, ((ServiceBusException)error.Exception).Reason);
        await processor.StopProcessingAsync();
        Expect.Sequence(["long"], await bus.Content(queue, SubQueue.DeadLetter));
    }

    [Check("a handler is told that its lock is lost, by an event and by a cancelled token")]
    public async Task LockLostEvent()
    {
        var queue = await bus.NewQueue(options => options.LockDuration = ShortLock);
        await bus.Send(queue, "long");
        var told = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var processor = bus.Client.CreateProcessor(
            queue, new ServiceBusProcessorOptions { MaxAutoLockRenewalDuration = TimeSpan.Zero });
        processor.ProcessMessageAsync += async args =>
        {
            args.MessageLockLostAsync += lost =>
            {
                told.TrySetResult(lost.Message.Body.ToString());
                return Task.CompletedTask;
            };
            await Task.WhenAny(told.Task, Task.Delay(TimeSpan.FromSeconds(15)));
        };
        processor.ProcessErrorAsync += _ => Task.CompletedTask;
        await processor.StartProcessingAsync();
        Expect.Equal("long", await told.Task.WaitAsync(Wait));
    }

    [Check("StopProcessingAsync waits for the handlers that run, calls no more, and the processor can start again")]
    public async Task StopWaits()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, Numbered("m", 10));
        var handling = new Handling();
        await using var processor = await Started(
            queue, handling, options => options.MaxConcurrentCalls = 2, TimeSpan.FromSeconds(1.5));
        await Expect.Eventually(() => handling.Running == 2);
        await processor.StopProcessingAsync();
        Expect.Equal(0, handling.Running);
        Expect.True(!processor.IsProcessing);
        var handled = handling.Bodies.Count;
        Expect.Equal(10 - handled, (await bus.Content(queue)).Count);
        await processor.StartProcessingAsync();
        await handling.UntilHandled(10);
        Expect.Sequence(Numbered("m", 10).Order(), handling.Bodies.Order());
    }

    [Check("CloseAsync waits for the handlers, and a closed processor does not start again")]
    public async Task Close()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "one");
        var handling = new Handling();
        var processor = await Started(queue, handling, duration: TimeSpan.FromSeconds(1));
        await Expect.Eventually(() => handling.Running == 1);
        await processor.CloseAsync();
        Expect.Sequence(["one"], handling.Bodies);
        Expect.True(processor.IsClosed);
        await Expect.Throws<ObjectDisposedException>(() => processor.StartProcessingAsync());
        Expect.Sequence([], await bus.Content(queue));
    }

    [Check("a handler's token is cancelled when the processor stops, and its message comes again after its lock")]
    public async Task StopCancels()
    {
        var queue = await bus.NewQueue(options => options.LockDuration = ShortLock);
        await bus.Send(queue, "endless");
        var began = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var processor = bus.Client.CreateProcessor(queue);
        processor.ProcessMessageAsync += async args =>
        {
            began.TrySetResult();
            await Task.Delay(Timeout.Infinite, args.CancellationToken);
        };
        processor.ProcessErrorAsync += _ => Task.CompletedTask;
        await processor.StartProcessingAsync();
        await began.Task.WaitAsync(Wait);
        await processor.StopProcessingAsync();
        await using var receiver = bus.Client.CreateReceiver(queue);
        Expect.Equal("endless", await receiver.CompleteOne());
    }

    [Check("a processor of a missing queue tells MessagingEntityNotFound, and works once the queue is there")]
    public async Task MissingQueue()
    {
        var queue = bus.NewName();
        var handling = new Handling();
        await using var processor = await Started(queue, handling);
        await Expect.Eventually(() => !handling.Errors.IsEmpty);
        var error = handling.Errors.First();
        Expect.Equal(ServiceBusFailureReason.MessagingEntityNotFound, ((ServiceBusException)error.Exception).Reason);
        Expect.Equal(ServiceBusErrorSource.Receive, error.ErrorSource);
        await bus.Administration.CreateQueueAsync(queue);
        await bus.Send(queue, "now");
        await handling.UntilHandled(1);
    }

    [Check("a processor takes dead letters, and messages in ReceiveAndDelete")]
    public async Task OtherModes()
    {
        var queue = await bus.NewQueue();
        await bus.Send(queue, "dead", "deleted");
        await using var receiver = bus.Client.CreateReceiver(queue);
        await receiver.DeadLetterMessageAsync(await receiver.ReceiveOne());
        var handling = new Handling();
        await using var ofDeadLetters = await Started(queue, handling, options => options.SubQueue = SubQueue.DeadLetter);
        await handling.UntilHandled(1);
        await using var deleting = await Started(
            queue, handling, options => options.ReceiveMode = ServiceBusReceiveMode.ReceiveAndDelete);
        await handling.UntilHandled(2);
        Expect.Sequence(["dead", "deleted"], handling.Bodies);
        Expect.Sequence([], await bus.Content(queue));
        await Expect.Eventually(async () => (await bus.Content(queue, SubQueue.DeadLetter)).Count == 0);
    }

    private async Task<ServiceBusProcessor> Started(
        string queue,
        Handling handling,
        Action<ServiceBusProcessorOptions>? change = null,
        TimeSpan? duration = null)
    {
        var options = new ServiceBusProcessorOptions();
        change?.Invoke(options);
        var processor = bus.Client.CreateProcessor(queue, options);
        processor.ProcessMessageAsync += args => handling.Work(args.Message, duration);
        processor.ProcessErrorAsync += handling.Told;
        await processor.StartProcessingAsync();
        return processor;
    }
}

using Azure.Messaging.ServiceBus;
using Azure.Messaging.ServiceBus.Administration;
using static Dynabus.Checks.Sdk.Messages;

namespace Dynabus.Checks.Sdk.Administration;

internal sealed class QueueChecks(Bus bus)
{
    private ServiceBusAdministrationClient Admin => bus.Administration;

    [Check("every setting of CreateQueueOptions comes back as it was given")]
    public async Task EverySetting()
    {
        var (target, graveyard) = (await bus.NewTopic(), await bus.NewQueue());
        var options = new CreateQueueOptions(bus.NewName())
        {
            AutoDeleteOnIdle = TimeSpan.FromHours(1),
            DeadLetteringOnMessageExpiration = true,
            DefaultMessageTimeToLive = TimeSpan.FromDays(3),
            DuplicateDetectionHistoryTimeWindow = TimeSpan.FromMinutes(5),
            EnableBatchedOperations = false,
            ForwardDeadLetteredMessagesTo = graveyard,
            LockDuration = TimeSpan.FromSeconds(45),
            MaxDeliveryCount = 7,
            MaxSizeInMegabytes = 2048,
            RequiresDuplicateDetection = true,
            Status = EntityStatus.ReceiveDisabled,
            UserMetadata = "Löwe & <lamb>",
        };
        AccessRights[] rights = [AccessRights.Manage, AccessRights.Send, AccessRights.Listen];
        options.AuthorizationRules.Add(new SharedAccessAuthorizationRule("all", rights));
        var created = (await Admin.CreateQueueAsync(options)).Value;
        var read = (await Admin.GetQueueAsync(options.Name)).Value;
        Expect.Equal(created, read);
        Expect.True(read.ForwardDeadLetteredMessagesTo.EndsWith($"/{graveyard}"), read.ForwardDeadLetteredMessagesTo);
        read.ForwardDeadLetteredMessagesTo = graveyard;
        Expect.Equal(options, new CreateQueueOptions(read) { MaxMessageSizeInKilobytes = null });
        var forwarding = await bus.NewQueue(queue => queue.ForwardTo = target);
        Expect.True((await Admin.GetQueueAsync(forwarding)).Value.ForwardTo.EndsWith($"/{target}"));
    }

    [Check("a queue that is created with its name only has the defaults of Service Bus")]
    public async Task Defaults()
    {
        var queue = (await Admin.GetQueueAsync(await bus.NewQueue())).Value;
        var expected = new CreateQueueOptions(queue.Name);
        var actual = new CreateQueueOptions(queue);
        // The service tells 256 KB, the tier's size, where the options leave it away.
        Expect.Equal(256L, actual.MaxMessageSizeInKilobytes);
        actual.MaxMessageSizeInKilobytes = null;
        Expect.Equal(expected, actual);
        Expect.Equal("00:01:00 1024 10 Active", $"{queue.LockDuration} {queue.MaxSizeInMegabytes} {queue.MaxDeliveryCount} {queue.Status}");
    }

    [Check("an update changes what it may, and what is fixed at creation is refused")]
    public async Task Update()
    {
        var queue = (await Admin.GetQueueAsync(await bus.NewQueue())).Value;
        queue.LockDuration = TimeSpan.FromSeconds(90);
        queue.MaxDeliveryCount = 3;
        queue.UserMetadata = "changed";
        queue.Status = EntityStatus.SendDisabled;
        queue.DeadLetteringOnMessageExpiration = true;
        var updated = (await Admin.UpdateQueueAsync(queue)).Value;
        Expect.Equal(queue, updated);
        Expect.Equal(queue, (await Admin.GetQueueAsync(queue.Name)).Value);
        var other = QueueOf(queue.Name, requiresSession: true);
        var error = await Expect.Throws<ArgumentException>(() => Admin.UpdateQueueAsync(other));
        Expect.True(error.Message.Contains("can't be changed"), error.Message);
    }

    [Check("a queue is there after its creation and gone after its deletion, with all its messages")]
    public async Task Existence()
    {
        var name = bus.NewName();
        Expect.Equal(false, (await Admin.QueueExistsAsync(name)).Value);
        await Admin.CreateQueueAsync(name);
        Expect.Equal(true, (await Admin.QueueExistsAsync(name)).Value);
        await bus.Send(name, "gone");
        await Admin.DeleteQueueAsync(name);
        Expect.Equal(false, (await Admin.QueueExistsAsync(name)).Value);
        await Admin.CreateQueueAsync(name);
        Expect.Sequence([], await bus.Content(name));
    }

    [Check("what is missing: MessagingEntityNotFound; what is there: MessagingEntityAlreadyExists")]
    public async Task MissingAndThere()
    {
        var (queue, topic, missing) = (await bus.NewQueue(), await bus.NewTopic(), bus.NewName());
        const ServiceBusFailureReason NotFound = ServiceBusFailureReason.MessagingEntityNotFound;
        const ServiceBusFailureReason Exists = ServiceBusFailureReason.MessagingEntityAlreadyExists;
        await Refused(NotFound, () => Admin.GetQueueAsync(missing));
        await Refused(NotFound, () => Admin.GetQueueRuntimePropertiesAsync(missing));
        await Refused(NotFound, () => Admin.DeleteQueueAsync(missing));
        var unknown = QueueOf(missing, requiresSession: false);
        await Refused(NotFound, () => Admin.UpdateQueueAsync(unknown));
        await Refused(NotFound, () => Admin.GetQueueAsync(topic));
        await Refused(NotFound, () => Admin.GetTopicAsync(queue));
        await Refused(NotFound, () => Admin.GetSubscriptionAsync(topic, "missing"));
        await Refused(NotFound, () => Admin.GetRuleAsync(topic, "missing", "missing"));
        await Refused(Exists, () => Admin.CreateQueueAsync(queue));
        await Refused(Exists, () => Admin.CreateTopicAsync(queue));
        await Refused(Exists, () => Admin.CreateQueueAsync(topic));
    }

    [Check("settings out of range are refused with a sentence")]
    public async Task OutOfRange()
    {
        await Expect.Throws<ArgumentException>(() => bus.NewQueue(queue => queue.MaxSizeInMegabytes = 1500));
        var missing = await Expect.Throws<ArgumentException>(() => bus.NewQueue(queue => queue.ForwardTo = "missing"));
        Expect.True(missing.Message.Contains("The auto forwarding destination entity doesn't exist."), missing.Message);
        await Expect.Throws<ArgumentException>(() => bus.NewQueue(queue => queue.MaxMessageSizeInKilobytes = 100_000));
        await Expect.Throws<ArgumentException>(() => bus.NewQueue(queue => queue.LockDuration = TimeSpan.FromMinutes(6)));
    }

    [Check("runtime properties count active, dead, scheduled and locked messages, and tell times")]
    public async Task RuntimeProperties()
    {
        var before = DateTimeOffset.UtcNow.AddSeconds(-2);
        var queue = await bus.NewQueue();
        await bus.Send(queue, Numbered("m", 5));
        await using var sender = bus.Client.CreateSender(queue);
        await sender.ScheduleMessageAsync(new ServiceBusMessage("later"), DateTimeOffset.UtcNow.AddHours(1));
        await using var receiver = bus.Client.CreateReceiver(queue);
        var messages = await receiver.ReceiveAll(3);
        await receiver.DeadLetterMessageAsync(messages[0]);
        await receiver.CompleteMessageAsync(messages[1]);
        var counts = (await Admin.GetQueueRuntimePropertiesAsync(queue)).Value;
        Expect.Equal("3 1 1 5", string.Join(' ',
            counts.ActiveMessageCount, counts.DeadLetterMessageCount, counts.ScheduledMessageCount, counts.TotalMessageCount));
        Expect.Equal(0, counts.TransferMessageCount + counts.TransferDeadLetterMessageCount);
        Expect.True(counts.SizeInBytes > 0);
        Expect.Between(before, DateTimeOffset.UtcNow, counts.CreatedAt);
        Expect.Between(before, DateTimeOffset.UtcNow.AddSeconds(1), counts.AccessedAt);
    }

    [Check("a queue's authorization rules come back with rights and keys, and their keys open the queue")]
    public async Task AuthorizationRules()
    {
        var rule = new SharedAccessAuthorizationRule("sender", [AccessRights.Send]);
        var queue = await bus.NewQueue(options => options.AuthorizationRules.Add(rule));
        var read = (SharedAccessAuthorizationRule)(await Admin.GetQueueAsync(queue)).Value.AuthorizationRules.Single();
        Expect.Equal("sender", read.KeyName);
        Expect.Sequence([AccessRights.Send], read.Rights);
        Expect.Equal($"{rule.PrimaryKey} {rule.SecondaryKey}", $"{read.PrimaryKey} {read.SecondaryKey}");
    }

    private static QueueProperties QueueOf(string name, bool requiresSession) => ServiceBusModelFactory.QueueProperties(
        name,
        lockDuration: TimeSpan.FromMinutes(1),
        maxSizeInMegabytes: 1024,
        requiresSession: requiresSession,
        defaultMessageTimeToLive: TimeSpan.MaxValue,
        autoDeleteOnIdle: TimeSpan.MaxValue,
        duplicateDetectionHistoryTimeWindow: TimeSpan.FromMinutes(10),
        maxDeliveryCount: 10,
        status: EntityStatus.Active,
        userMetadata: "",
        maxMessageSizeInKilobytes: 256);
}

using MassTransit;
using Orders;

namespace Dynabus.Checks.MassTransit;

/// <summary>Many messages: limits, several processes, and a namespace that ends and starts again.</summary>
internal sealed class LoadChecks(Service service, string connectionString, Uri? control)
{
    private static readonly TimeSpan Long = TimeSpan.FromMinutes(3);

    public async Task Run(Tally tally)
    {
        await tally.Check("the limit of concurrent messages is reached and held", ConcurrencyLimit);
        await tally.Check("messages that are not fetched ahead are left to other receivers", Prefetch);
        await tally.Check("two services share the messages, and each is handled once", Sharing);
        const string restart = "a restart under load loses nothing";
        if (control is null)
        {
            tally.LeaveOut(restart, "DYNABUS_CONTROL is not set");
        }
        else
        {
            await tally.Check(restart, Restart, Long);
        }
    }

    private static IReadOnlyList<Guid> NewOrders(int count) =>
        [.. Enumerable.Range(0, count).Select(_ => NewId.NextGuid())];

    private async Task ConcurrencyLimit()
    {
        var orders = NewOrders(60);
        foreach (var orderId in orders)
        {
            service.Warehouse.Take(orderId, TimeSpan.FromMilliseconds(100));
        }

        service.Warehouse.ResetMost();
        await Task.WhenAll(orders.Select(orderId => service.Send(Queues.Shipments, new ShipOrder(orderId))));
        await Expect.Eventually(() => orders.All(id => service.Journal.Of(Queues.Shipments, id).Count == 1));
        Expect.Equal(Service.Options.ConcurrentShipments, service.Warehouse.Most);
    }

    private async Task Prefetch()
    {
        var orders = NewOrders(60);
        foreach (var orderId in orders)
        {
            service.Warehouse.Take(orderId, TimeSpan.FromSeconds(3));
        }

        var endpoint = await service.Bus.GetSendEndpoint(Queues.AddressOf(Queues.Shipments));
        await endpoint.SendBatch(orders.Select(orderId => new ShipOrder(orderId)));
        await using var other = service.Client.CreateReceiver(Queues.Shipments);
        var free = new HashSet<string>();
        while (await other.ReceiveMessagesAsync(60, TimeSpan.FromMilliseconds(500)) is { Count: > 0 } messages)
        {
            foreach (var message in messages)
            {
                free.Add(message.MessageId);
                await other.CompleteMessageAsync(message);
            }
        }

        var ahead = Service.Options.ShipmentPrefetch + Service.Options.ConcurrentShipments;
        Expect.Between(orders.Count - ahead, orders.Count - 1, free.Count);
        var left = orders.Count - free.Count;
        await Expect.Eventually(() => orders.Count(id => service.Journal.Of(Queues.Shipments, id).Count == 1) == left);
    }

    private async Task Sharing()
    {
        var bound = TimeSpan.FromSeconds(40);
        await using var second = await Service.Start(connectionString);
        var orders = NewOrders(200);
        await Task.WhenAll(orders.Select(orderId => service.Send(Queues.Shipments, new ShipOrder(orderId))));
        int Shipped(Service by) => orders.Sum(orderId => by.Journal.Of(Queues.Shipments, orderId).Count);
        await Expect.Eventually(() => Shipped(service) + Shipped(second) >= orders.Count, bound);
        Expect.Equal(orders.Count, Shipped(service) + Shipped(second));
        Expect.Between(1, orders.Count - 1, Shipped(second));
    }

    /// <summary>What was acknowledged is handled, at least once, although the namespace ended as by a crash.</summary>
    private async Task Restart()
    {
        var orders = NewOrders(600);
        var sent = 0;
        var restarted = new TaskCompletionSource();
        var sending = Parallel.ForEachAsync(
            orders,
            new ParallelOptions { MaxDegreeOfParallelism = 12 },
            async (orderId, _) =>
            {
                await UntilSent(() => service.Send(Queues.Shipments, new ShipOrder(orderId)));
                await UntilSent(() => service.Bus.Publish(new OrderPaid(orderId)));
                if (Interlocked.Increment(ref sent) == 150)
                {
                    restarted.TrySetResult();
                }
            });
        await restarted.Task;
        using var http = new HttpClient { Timeout = Long };
        (await http.PostAsync(new Uri(control!, "/restart"), null)).EnsureSuccessStatusCode();
        await sending;
        await Expect.Eventually(() => Handled(Queues.Shipments) == orders.Count, Long);
        await Expect.Eventually(() => Handled(Queues.Audit) == orders.Count, Long);
        var again = service.Journal.CountsOf(Queues.Shipments).Where(pair => orders.Contains(pair.Key)).Count(pair => pair.Value > 1);
        // What was being handled when the namespace ended comes again, and what was repeated because its answer was lost.
        Expect.Between(0, 100, again);
        int Handled(string endpoint) => orders.Count(orderId => service.Journal.Of(endpoint, orderId).Count > 0);
    }

    /// <summary>A sender repeats what was not acknowledged.</summary>
    private static async Task UntilSent(Func<Task> send)
    {
        for (var tries = 1; ; tries++)
        {
            try
            {
                await send();
                return;
            }
            catch (Exception) when (tries < 20)
            {
                await Task.Delay(TimeSpan.FromSeconds(1));
            }
        }
    }
}

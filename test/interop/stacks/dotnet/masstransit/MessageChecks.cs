using MassTransit;
using Orders;

namespace Dynabus.Checks.MassTransit;

/// <summary>Requests, events and sessions.</summary>
internal sealed class MessageChecks(Service service)
{
    private static readonly TimeSpan Moment = TimeSpan.FromSeconds(1);

    public Task Run(Tally tally) => Task.WhenAll(
        tally.Check("a request is answered, and its answer may be of several types", Answers),
        tally.Check("many requests at the same time each get their own answer", ManyRequests),
        tally.Check("a request to a consumer that fails ends with its fault", Faults),
        tally.Check("a message that is sent twice with one id is handled once", Duplicates),
        tally.Check("an event reaches those whose filter it matches, and nobody else", Filters),
        tally.Check("a subscriber to an interface gets the events of all types", Interfaces),
        tally.Check("the messages of a session are handled in their order", Sessions));

    private async Task Answers()
    {
        var orderId = NewId.NextGuid();
        var accepted = await service.Submit(new SubmitOrder(orderId, "Ada", "EU", 40));
        Expect.True(accepted.Is(out Response<OrderAccepted>? answer));
        Expect.Equal(orderId, answer!.Message.OrderId);
        var rejected = await service.Submit(new SubmitOrder(NewId.NextGuid(), "Alan", "EU", 0));
        Expect.True(rejected.Is(out Response<OrderRejected>? _));
    }

    private async Task ManyRequests()
    {
        var orders = Enumerable.Range(1, 20).Select(total => new SubmitOrder(NewId.NextGuid(), "Grace", "US", total)).ToList();
        var answers = await Task.WhenAll(orders.Select(service.Submit));
        var ids = answers.Select(answer => answer.Is(out Response<OrderAccepted>? accepted) ? accepted.Message.OrderId : default);
        Expect.Sequence(orders.Select(order => order.OrderId), ids);
    }

    private async Task Faults()
    {
        var handle = service.Bus.ConnectReceiveEndpoint("failing-questions", endpoint =>
            endpoint.Handler<Question>(_ => throw new InvalidOperationException("No answer.")));
        await handle.Ready;
        var client = service.Bus.CreateRequestClient<Question>(Queues.AddressOf("failing-questions"));
        var fault = await Expect.Throws<RequestFaultException>(() => client.GetResponse<Answer>(new Question("why?")));
        Expect.Equal("No answer.", fault.Fault!.Exceptions[0].Message);
        await handle.StopAsync();
    }

    private async Task Duplicates()
    {
        var orderId = NewId.NextGuid();
        var messageId = NewId.NextGuid();
        var endpoint = await service.Bus.GetSendEndpoint(Queues.AddressOf(Queues.Submit));
        for (var time = 0; time < 3; time++)
        {
            await endpoint.Send(new SubmitOrder(orderId, "Ada", "EU", 40), send =>
            {
                send.MessageId = messageId;
                send.ResponseAddress = service.Bus.Address;
            });
        }

        await service.Journal.First(Queues.Submit, orderId);
        await Task.Delay(Moment);
        Expect.Equal(1, service.Journal.Of(Queues.Submit, orderId).Count);
    }

    private async Task Filters()
    {
        var (small, far, both) = (NewId.NextGuid(), NewId.NextGuid(), NewId.NextGuid());
        await service.Submit(new SubmitOrder(small, "Ada", "EU", 40));
        await service.Submit(new SubmitOrder(far, "Grace", "US", 1000));
        await service.Submit(new SubmitOrder(both, "Alan", "EU", 5000));
        await service.Journal.First(Queues.Europe, small);
        await service.Journal.First(Queues.Europe, both);
        await service.Journal.First(Queues.LargeOrders, far);
        await service.Journal.First(Queues.LargeOrders, both);
        await Task.Delay(Moment);
        Expect.Equal(0, service.Journal.Of(Queues.LargeOrders, small).Count);
        Expect.Equal(0, service.Journal.Of(Queues.Europe, far).Count);
        Expect.Equal(1, service.Journal.Of(Queues.Europe, both).Count);
    }

    private async Task Interfaces()
    {
        var orderId = NewId.NextGuid();
        await service.Bus.Publish(new OrderSubmitted(orderId, "Ada", "EU", 40));
        await service.Bus.Publish(new OrderPaid(orderId));
        await service.Bus.Publish(new OrderShipped(orderId));
        await Expect.Eventually(() => service.Journal.Of(Queues.Audit, orderId).Count == 3);
    }

    private async Task Sessions()
    {
        const int steps = 8;
        var orders = Enumerable.Range(0, 12).Select(_ => NewId.NextGuid()).ToList();
        for (var step = 1; step <= steps; step++)
        {
            var number = step;
            await Task.WhenAll(orders.Select(orderId => service.Bus.Send(new OrderStep(orderId, number, "done"))));
        }

        var expected = Enumerable.Range(1, steps).Select(number => $"{number}. done").ToList();
        foreach (var orderId in orders)
        {
            await Expect.Eventually(() => service.Journal.Of(Queues.History, orderId).Count >= steps);
            Expect.Sequence(expected, service.Journal.Of(Queues.History, orderId).Select(entry => entry.What));
        }
    }
}

/// <summary>A request that only these checks send.</summary>
public sealed record Question(string Text);

public sealed record Answer(string Text);

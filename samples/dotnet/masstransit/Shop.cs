using MassTransit;
using Microsoft.Extensions.DependencyInjection;

namespace Orders;

/// <summary>What customers do: they order, and pay at once or are reminded.</summary>
public static class Shop
{
    public static async Task PlaceOrders(IServiceProvider services)
    {
        var client = services.GetRequiredService<IRequestClient<SubmitOrder>>();
        var bus = services.GetRequiredService<IBus>();
        foreach (var (customer, region, total) in new[] { ("Ada", "EU", 40), ("Grace", "US", 2500), ("Alan", "EU", 0) })
        {
            var orderId = NewId.NextGuid();
            var answer = await client.GetResponse<OrderAccepted, OrderRejected>(
                new SubmitOrder(orderId, customer, region, total));
            if (!answer.Is(out Response<OrderAccepted>? accepted))
            {
                Console.WriteLine($"{customer}: rejected.");
                continue;
            }

            Console.WriteLine($"{customer}: accepted.");
            string[] steps = ["submitted", "checked", "confirmed"];
            foreach (var (index, step) in steps.Index())
            {
                await bus.Send(new OrderStep(orderId, index + 1, step));
            }

            if (customer != "Grace")
            {
                var payments = await bus.GetSendEndpoint(Queues.AddressOf(Queues.Payments));
                await payments.Send(new ChargePayment(orderId, total, accepted.Message.ReminderId));
            }
        }
    }
}

using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Shop;
using Wolverine;

var connectionString = Environment.GetEnvironmentVariable("SERVICEBUS_CONNECTION_STRING");
if (connectionString is null)
{
    Console.Error.WriteLine("Set SERVICEBUS_CONNECTION_STRING to the connection string of a namespace.");
    return 2;
}

if (args is ["order"])
{
    await Order(Host.CreateApplicationBuilder().AddStorefront(new(connectionString, "storefront.db")).Build());
}
else
{
    await Host.CreateApplicationBuilder(args).AddWorker(new(connectionString, "worker.db")).Build().RunAsync();
}

return 0;

/// <summary>One customer, from the price to the reminder. The worker prints what it does.</summary>
static async Task Order(IHost storefront)
{
    await storefront.StartAsync();
    var bus = storefront.Services.GetRequiredService<IServiceScopeFactory>()
        .CreateScope().ServiceProvider.GetRequiredService<IMessageBus>();
    var quote = await bus.InvokeAsync<Quote>(new GetQuote("chair", 200));
    Console.WriteLine($"200 chairs cost {quote.Price}");

    var orderId = Guid.NewGuid().ToString("N")[..8];
    await bus.SendAsync(new PlaceOrder(orderId, quote.Price));
    await bus.SendAsync(new ChargeCard(orderId, quote.Price));
    await bus.SendAsync(new PrintLabel(orderId));
    for (var step = 1; step <= 3; step++)
    {
        await bus.SendAsync(new MoveParcel($"parcel-{orderId}", step));
    }

    await bus.ScheduleAsync(new RemindCustomer(orderId), TimeSpan.FromSeconds(10));
    await storefront.StopAsync();
}

using MassTransit;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Orders;

var connectionString = Environment.GetEnvironmentVariable("SERVICEBUS_CONNECTION_STRING")
    ?? throw new InvalidOperationException("Set SERVICEBUS_CONNECTION_STRING to the connection string of a namespace.");

var builder = Host.CreateApplicationBuilder(args);
builder.Services.AddOrders(connectionString, new OrderOptions());
using var host = builder.Build();
await host.StartAsync();

await using (var scope = host.Services.CreateAsyncScope())
{
    await Shop.PlaceOrders(scope.ServiceProvider);
}

await host.WaitForShutdownAsync();

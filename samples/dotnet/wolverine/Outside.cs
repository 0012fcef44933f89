namespace Shop;

/// <summary>What the shop calls, and what a test replaces.</summary>
public interface IOutside
{
    Task TakeOrder(string orderId);
    Task SendInvoice(string orderId, decimal total);
    Task CallCustomer(string orderId);
    Task ScanParcel(string parcelId, int step);
    Task RemindCustomer(string orderId);
    Task ChargeCard(string orderId, decimal amount);
    Task PrintLabel(string orderId);
}

/// <summary>The card service is busy: try again later.</summary>
public sealed class CardServiceBusyException(string message) : Exception(message);

/// <summary>The card was refused: trying again does not help.</summary>
public sealed class CardRefusedException(string message) : Exception(message);

/// <summary>Prints what it is asked to do.</summary>
public sealed class ConsoleOutside : IOutside
{
    public Task TakeOrder(string orderId) => Say($"order {orderId} is taken");

    public Task SendInvoice(string orderId, decimal total) => Say($"invoice for {orderId}: {total}");

    public Task CallCustomer(string orderId) => Say($"{orderId} is large: the customer gets a call");

    public Task ScanParcel(string parcelId, int step) => Say($"parcel {parcelId} is at step {step}");

    public Task RemindCustomer(string orderId) => Say($"reminder to pay {orderId}");

    public Task ChargeCard(string orderId, decimal amount) =>
        amount > 5000
            ? throw new CardRefusedException($"{amount} is above the limit of the card")
            : Say($"{amount} for {orderId} is charged");

    public async Task PrintLabel(string orderId)
    {
        await Task.Delay(TimeSpan.FromMilliseconds(200));
        await Say($"label for {orderId} is printed");
    }

    private static Task Say(string line) => Console.Out.WriteLineAsync(line);
}

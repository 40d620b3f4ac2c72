//! A TCP proxy that breaks connections where the test wants it, with bytes in flight.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Forwards to the server until a connection's budget of bytes is used up.
pub struct Proxy {
    pub addr: SocketAddr,
    /// Bytes that the next connection may send to the server, and get from it.
    up: Arc<AtomicU64>,
    down: Arc<AtomicU64>,
}

impl Proxy {
    pub fn to(server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = listener.local_addr().unwrap();
        let (up, down) = (Arc::new(AtomicU64::new(u64::MAX)), Arc::new(AtomicU64::new(u64::MAX)));
        let budgets = (up.clone(), down.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(server) else { return };
                let _ = client.set_nodelay(true);
                let _ = server.set_nodelay(true);
                let (up, down) = (budgets.0.load(Ordering::SeqCst), budgets.1.load(Ordering::SeqCst));
                let (Ok(client_in), Ok(server_in)) = (client.try_clone(), server.try_clone()) else { return };
                std::thread::spawn(move || forward(client_in, server, up));
                std::thread::spawn(move || forward(server_in, client, down));
            }
        });
        Proxy { addr, up, down }
    }

    pub fn next_connection_may(&self, up: u64, down: u64) {
        self.up.store(up, Ordering::SeqCst);
        self.down.store(down, Ordering::SeqCst);
    }
}

fn forward(mut from: TcpStream, mut to: TcpStream, budget: u64) {
    let mut left = budget;
    let mut bytes = [0; 16 << 10];
    while left > 0 {
        let room = left.min(bytes.len() as u64) as usize;
        match from.read(&mut bytes[..room]) {
            Ok(count) if count > 0 && to.write_all(&bytes[..count]).is_ok() => left -= count as u64,
            _ => break,
        }
    }
    if left == 0 {
        // Cut, not closed: what is in flight the other way is lost as well.
        let _ = rustix::net::sockopt::set_socket_linger(&from, Some(Duration::ZERO));
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

//! Reuses the buffers of texts that the reader is done with. Without it the stream's thread allocates what the reader's thread
//! frees, and under load the two contend for the allocator.

use std::sync::Mutex;

/// Maximum number of idle buffers: as many as one read yields.
const MAX_BUFFERS: usize = 64;

/// Larger buffers are freed.
const MAX_CAPACITY: usize = 64 * 1024;

/// Never blocks on its lock, which stays locked forever if it was held during a fork; then buffers are allocated.
#[derive(Debug, Default)]
pub struct BufferPool(Mutex<Vec<Vec<u8>>>);

impl BufferPool {
    /// Returns a text's buffer to the pool.
    pub fn put(&self, text: String) {
        if (1..=MAX_CAPACITY).contains(&text.capacity())
            && let Ok(mut buffers) = self.0.try_lock()
            && buffers.len() < MAX_BUFFERS
        {
            buffers.push(text.into_bytes());
        }
    }

    /// Returns an empty buffer for about `bytes` bytes.
    pub fn take(&self, bytes: usize) -> Vec<u8> {
        let pool = self.0.try_lock().ok().and_then(|mut buffers| buffers.pop());
        // A short text must not occupy a large buffer.
        let fits = |text: &Vec<u8>| (bytes..=2 * bytes + 1024).contains(&text.capacity());
        if let Some(mut text) = pool.filter(fits) {
            text.clear();
            return text;
        }
        // With a quarter to spare, because successive texts tend to grow.
        let bytes = bytes.min(MAX_CAPACITY);
        Vec::with_capacity(bytes + bytes / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> String {
        String::with_capacity(bytes)
    }

    #[test]
    fn a_buffer_that_fits_is_reused_and_empty() {
        let pool = BufferPool::default();
        let mut original = text(1000);
        original.push_str("of somebody else");
        let address = original.as_ptr();
        pool.put(original);
        let taken = pool.take(900);
        assert_eq!((taken.as_ptr(), taken.len()), (address, 0));
        let another = pool.take(900);
        assert_ne!(another.as_ptr(), address, "no buffer is handed out twice");
    }

    #[test]
    fn the_pool_is_bounded_and_a_short_text_gets_a_small_buffer() {
        let pool = BufferPool::default();
        pool.put(text(MAX_CAPACITY + 1));
        pool.put(String::new());
        assert_eq!(pool.0.lock().map(|buffers| buffers.len()).ok(), Some(0));
        (0..2 * MAX_BUFFERS).for_each(|_| pool.put(text(MAX_CAPACITY)));
        assert_eq!(pool.0.lock().map(|buffers| buffers.len()).ok(), Some(MAX_BUFFERS));
        assert!(pool.take(100).capacity() < 2 * 100 + 1025);
        assert!(pool.take(100 << 20).capacity() <= 2 * MAX_CAPACITY, "a large request is not allocated at once");
    }

    #[test]
    fn a_locked_pool_does_not_block() {
        let pool = BufferPool::default();
        let guard = pool.0.lock();
        pool.put(text(10));
        assert!(pool.take(10).capacity() >= 10);
        drop(guard);
    }
}
